"""Chart of the cost per call with its cache misses."""
