"""The detail of a folded message shows all of its blocks."""

from inspector.strategies.plan import Plan
from inspector.ui.detail.content import DetailSection, Document, SectionKind
from inspector.ui.detail.views import VIEWS, Joined
from tests.ui.facade import DetailPart

PLAN = Plan.from_specs(["tiered-stale:data=1,search=1,action=1,confirmation=1,default=1"])


def blocks_named(detail: DetailPart) -> list[str]:
    """Names of blocks, without the line on the message's cache miss, which the plan causes."""
    return [name for name in detail.names() if "cache miss with the plan: plan edit" not in name]


def page(text: str, kind: SectionKind = SectionKind.RECORDED) -> Document:
    return Document.of((DetailSection(text, kind),), 40)


def shown(joined: Joined) -> list[str]:
    return ["".join(text for text, _ in joined.shown(row).pieces).strip() for row in range(len(joined))]


def test_pages_are_below_their_names_and_only_their_texts_are_searched_and_copied() -> None:
    joined = Joined.of(
        [("needle", page("hay")), ("two", page("a needle\nand hay")), ("three", page("cut", SectionKind.NOTE))], 40
    )

    assert shown(joined) == ["needle", "hay", "", "two", "a needle", "and hay", "", "three", "cut"]
    assert joined.find("needle").tolist() == [4]
    assert joined.note_rows() == (8,)
    assert joined.whole() == "hay\na needle\nand hay\ncut"


def test_what_is_stated_of_a_name_below_a_text_goes_on_below_its_own_beginning() -> None:
    said = ("Cache miss at call 3", "cause  expired", "source  inferred from the file; tokens estimated", "x" * 50)
    joined = Joined.around((), page("hay"), said, 30)
    rows = ["".join(text for text, _ in joined.shown(row).pieces).rstrip() for row in range(len(joined))]

    assert [row.removeprefix(" ") for row in rows[2:]] == [
        "Cache miss at call 3",
        "cause  expired",
        "source  inferred from the",
        "        file; tokens estimated",
        "x" * 30,
        "x" * 20,
    ]


async def test_a_folded_message_shows_every_block_in_every_view(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        detail, timeline = run.detail, run.timeline
        await run.press("end", "up", "up", "left")
        assert timeline.view.is_folded(timeline.cursor_row)
        await run.press("enter", "shift+tab")
        await run.until(lambda: len(detail.content.parts) == 2)
        for view, _ in VIEWS:
            detail.shown = view
            expected = 1 if view == "record" else 2
            await run.until(lambda expected=expected: len(blocks_named(detail)) == expected)
        detail.shown = "raw"
        await run.until(lambda: "The guard is missing." in detail.text)
        assert "src/app/29.py" in detail.text
        await run.press("right")
        await run.until(lambda: not detail.content.parts)
