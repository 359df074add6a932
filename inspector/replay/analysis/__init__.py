"""What replays tell of a session and a plan: savings, hazards, who takes up the prompts, what is to be expected."""
