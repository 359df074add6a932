"""What strategies look at: a session as columns, in the order things arrive, and what follows from them alone."""
