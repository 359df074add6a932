"""A plan in front of the model calls of a framework or an SDK: see `docs/adapters.md`."""
