"""The supported formats, one module or folder each, registered in `inspector.session.registry`."""
