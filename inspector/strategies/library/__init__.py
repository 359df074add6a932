"""The strategies, one module a family; imported when one is looked up by its name."""
