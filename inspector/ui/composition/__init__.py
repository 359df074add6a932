"""The composition screen: content of the context window at a call and its cost."""
