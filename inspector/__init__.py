"""See what an AI agent carries in its context, and what each way of shrinking it would leave, cost and lose."""

__version__ = "0.1.0"
