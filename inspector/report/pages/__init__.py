"""Reports as pages: shared content, and its Markdown and HTML form."""
