"""Prompt caches: provider rules, and cache reads and writes per call."""
