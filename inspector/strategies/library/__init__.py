"""Strategies, one module per family, imported when looked up by name."""
