"""What happens to a graph between Session.run and native code."""
