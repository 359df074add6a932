"""The tune screen: limits swept over their ranges, and drawing what comes of it."""
