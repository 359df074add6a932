"""What tools did to the session's files, and what the agent knew of each: the screen of files."""
