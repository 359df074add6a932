"""The report as a page: what Markdown and HTML have in common, and how each writes it."""
