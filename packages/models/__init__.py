"""Programs that train models."""
