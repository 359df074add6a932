"""Columns of a session's messages, blocks and calls in arrival order, as strategies read them."""
