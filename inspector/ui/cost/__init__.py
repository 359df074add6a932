"""What a plan costs, as the cost bar and the cost screen say it."""
