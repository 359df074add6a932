"""The list of sessions: finding and reading them, and what its lines say."""
