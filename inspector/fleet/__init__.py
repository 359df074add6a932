"""Work on many sessions: reports on folders, tuning of plans, sessions before and after a change.

`executors` runs jobs on sessions in this process, in worker processes, or on a cluster. `result_cache` stores results
between runs. `session_tasks` reads every session once and counts every call once. `reports` and `tuning` build on them.
Nothing here prints: progress goes to a function of the caller; results and notes are returned.
"""
