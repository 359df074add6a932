"""One module a format, and the detection that chooses between them by content."""
