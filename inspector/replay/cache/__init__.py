"""Prompt caches: the rules of each provider, and what a cache makes of the prompts of a session."""
