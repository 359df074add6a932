"""The context chart: what it shows of a replay, and drawing it as text."""
