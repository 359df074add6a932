"""Compare screen: every strategy and the current plan on one session."""
