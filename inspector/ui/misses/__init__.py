"""Cache miss screen: causes and extra cost."""
