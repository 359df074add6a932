"""Screen of cache breakpoints: where each rule puts them in a call's prompt, and the tokens they would cache."""
