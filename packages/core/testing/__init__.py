"""What tests of ops are made of: cases, and the sweep that runs them."""
