"""Reconstruct file contents at any turn from a session's recorded reads, edits, writes and patches."""
