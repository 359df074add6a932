"""What strategies are made of: parameters, decisions, operations on blocks, renditions."""
