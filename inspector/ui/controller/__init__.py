"""The open session without the screen: what is read, counted, replayed and followed, in threads."""
