"""Files as a session's agent knew them: from its recorded reads, edits, writes and patches to contents at any turn."""
