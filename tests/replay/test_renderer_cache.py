"""The block cache of a renderer does not grow with every limit that is tried."""

import numpy as np

from inspector.replay.engine import renderer as rendering
from inspector.replay.engine.renderer import Renderer
from inspector.strategies.core.operations import CutText, ReplaceText
from inspector.strategies.history.history import History
from inspector.tokens.token_table import TokenTable
from tests.strategies.conversations import session_of, steps


def test_blocks_rendered_under_earlier_limits_are_let_go_and_found_again_equal(monkeypatch):
    monkeypatch.setattr(rendering, "MAX_CACHED", 300)
    session = session_of(steps(50))
    history = History.of(session)
    renderer = Renderer(history, TokenTable.estimated(session))
    blocks = history.results
    of_first = np.zeros(len(blocks), dtype=np.int32)

    def tokens(limit: int) -> list[int]:
        stack = (CutText(limit, limit, 0, "~"), ReplaceText("x" * limit, never_longer=True))
        return renderer.render(blocks, of_first, (stack,)).tokens.tolist()

    first = [tokens(limit) for limit in range(1, 40)]
    assert sum(map(len, renderer._rendered.values())) <= 300
    for block in blocks.tolist() * 8:
        renderer.rendition(block, (ReplaceText(f"{block}"),))
    assert sum(map(len, renderer._renditions.values())) <= 300
    assert [tokens(limit) for limit in range(1, 40)] == first
