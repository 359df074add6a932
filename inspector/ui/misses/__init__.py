"""Why calls missed the prompt cache, and what that cost: the screen of cache misses."""
