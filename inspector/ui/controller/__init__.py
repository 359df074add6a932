"""An open session without a screen: reading, counting, replaying and following, in threads."""
