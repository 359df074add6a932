"""Prices: the user's price file, the bundled price table, and the rates of every call of a session."""
