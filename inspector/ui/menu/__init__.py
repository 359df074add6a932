"""Menu shown while it waits for a letter."""
