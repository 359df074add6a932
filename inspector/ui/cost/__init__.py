"""What a plan costs and saves: the cost bar, and the screen with every figure."""
