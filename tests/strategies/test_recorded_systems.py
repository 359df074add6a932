"""Every system with recorded outputs is reproduced by one test, or listed with the reason for its absence."""

from tests.strategies import test_recorded_frameworks as frameworks
from tests.strategies import test_recorded_outputs as agents
from tests.strategies import test_recorded_pruning as pruning

FOUNDING = {
    "hynous.TO3_seed_doc": "test_tiered_stale",
    "hynous.stale_truncation": "test_tiered_stale",
    "microx.insertion_truncate": "test_insertion",
    "smart_tool_retention": "test_retention",
    "keep_recent_tool_results": "test_retention",
    "dedupe_file_reads": "test_retention",
    "odincode.FrameStack": "test_clear_old",
    "utah.pruneOldToolResults": "test_prune_old",
}
"""Systems the founding documents describe, and the tests that hold their strategies to them."""


def test_every_system_is_reproduced_once_or_listed_with_a_reason(vectors):
    tables = [FOUNDING, agents.SYSTEMS, frameworks.SYSTEMS, pruning.SYSTEMS, pruning.NOT_APPLICABLE]
    listed = [system for table in tables for system in table]
    assert len(listed) == len(set(listed))
    assert set(vectors) <= set(listed)
