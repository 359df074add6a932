"""Checks of `inspector doctor`: terminal, machine, installation and data."""
