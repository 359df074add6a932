"""Every strategy, and the plan, on one session: the compare screen."""
