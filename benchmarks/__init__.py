"""What the project promises, measured. `python -m benchmarks` runs everything and prints a table."""
