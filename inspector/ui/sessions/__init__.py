"""Session list, filled incrementally, and tabs of the open sessions."""
