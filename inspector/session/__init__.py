"""Recorded sessions: the model, the formats that are read, readers by container, following, finding them."""
