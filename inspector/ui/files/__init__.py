"""The files screen: tool operations on the session's files and the agent's knowledge of each file."""
