"""Counting tokens, offline, and how many are left of a text that is cut."""
