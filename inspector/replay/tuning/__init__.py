"""Tune plans on many sessions: search, choice, and confidence of the choice."""
