"""What the detail shows: a block as text, page by page, in its views."""
