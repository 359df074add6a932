"""The detail: one block as text, page by page, in its views."""
