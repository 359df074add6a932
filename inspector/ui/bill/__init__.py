"""What every call cost, drawn over the calls with the cache misses among them."""
