"""The supported formats, one module or package each, registered in `inspector.session.registry`."""
