"""Building blocks of strategies: parameters, decisions, operations on blocks, renditions."""
