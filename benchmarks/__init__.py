"""Measurements of the project's promises. `python -m benchmarks` runs everything and prints a table."""
