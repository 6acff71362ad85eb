"""How nodes are launched, one file a family."""
