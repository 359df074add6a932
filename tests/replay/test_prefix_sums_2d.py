import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.engine.prompt_edits import prefix_sums


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(-9, 9)), max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 99)), max_size=20),
)
def test_sums_equal_adding_up_every_point(points, queries):
    rows = np.array([row for row, _ in points], dtype=np.int64)
    weights = np.array([weight for _, weight in points], dtype=np.int64)
    counts = np.array([min(count, len(points)) for count, _ in queries], dtype=np.int64)
    limits = np.array([limit for _, limit in queries], dtype=np.int64)

    expected = [
        sum(weight for row, weight in points[:count] if row < limit)
        for count, limit in zip(counts.tolist(), limits.tolist(), strict=True)
    ]

    assert prefix_sums(rows, weights, counts, limits).tolist() == expected
