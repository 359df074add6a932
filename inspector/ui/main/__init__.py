"""The main screen: one session with its timeline, detail, chart, plan and cost."""
