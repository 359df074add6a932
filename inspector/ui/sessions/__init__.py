"""The list of sessions, found and read bit by bit, and the tabs of those that are open."""
