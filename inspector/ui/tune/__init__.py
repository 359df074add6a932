"""The tune screen: limits swept over their ranges, and what comes of it."""
