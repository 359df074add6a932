"""Prices: a user's own, those bundled, and the rates of every call of a session."""
