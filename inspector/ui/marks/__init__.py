"""Where cache control marks go in a call's prompt, and what they would hold: the screen of cache marks."""
