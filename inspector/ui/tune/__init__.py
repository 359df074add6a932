"""Tune screen: sweep limits over their ranges and show the results."""
