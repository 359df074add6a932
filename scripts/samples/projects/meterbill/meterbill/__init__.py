"""Bills for hourly electricity meters."""
