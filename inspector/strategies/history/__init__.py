"""What strategies read of a session: columns of messages, blocks and calls, in the order they arrive."""
