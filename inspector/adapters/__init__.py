"""Apply a plan to the model calls of a framework or SDK: see `docs/apply.md`."""
