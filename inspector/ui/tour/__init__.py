"""The tour of `inspector demo --play`."""
