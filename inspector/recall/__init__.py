"""Recall cut texts: find the full text by an id in a notice or by its place in a session."""
