"""A menu that waits for a letter, shown while it does."""
