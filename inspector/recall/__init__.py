"""Getting back what was cut: from an id in a notice, or a place in a session, to the whole text in its file."""
