"""The core: graphs, what ops are, and sessions that run them."""
