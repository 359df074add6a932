"""Count tokens offline, for whole texts and for parts of cut texts."""
