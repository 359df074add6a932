"""Sensors of the greenhouse, one module each."""
