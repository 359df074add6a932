"""Costs and savings of a plan: the cost bar and the screen with every figure."""
