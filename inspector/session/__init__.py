"""Recorded sessions: the model, the formats that are read, watching files as they grow, finding them."""
