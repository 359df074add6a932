import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.report.document import Report
from inspector.report.json_document import schema_text
from tests.conftest import ROOT

FIELDS_OF_THE_CONTRACT = {
    "Report": "schema session tokens recorded baseline plans",
    "SessionFacts": "path format id model messages blocks tool_results calls compactions skipped_records",
    "TokenFacts": "method calibration",
    "CalibrationFacts": "ratio overhead residual calls",
    "FigureSet": (
        "calls prompt_tokens peak_prompt_tokens cache_read_tokens cache_write_tokens uncached_tokens output_tokens "
        "cache_breaks cost_usd known"
    ),
    "PlanFacts": "name strategies figures saved break_even_call edits hazards needed_later",
    "Saving": "tokens usd percent",
}


def test_the_published_schema_is_the_one_the_types_make():
    published = (ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8")

    assert published == schema_text(Report), "run: python -m inspector.report.json_document > docs/report.schema.json"


@pytest.mark.parametrize(("name", "fields"), FIELDS_OF_THE_CONTRACT.items())
def test_every_field_of_the_contract_is_required_by_the_schema(name: str, fields: str):
    definition = json.loads(schema_text(Report))["$defs"][name]

    assert set(fields.split()) <= set(definition["required"])


def test_every_field_says_what_it_means():
    definitions = json.loads(schema_text(Report))["$defs"]
    silent = [
        f"{name}.{field}"
        for name, definition in definitions.items()
        for field, content in definition.get("properties", {}).items()
        if "description" not in content and "$ref" not in content
    ]

    assert silent == []


@given(st.data())
def test_a_report_written_as_json_reads_back_the_same(data: st.DataObject):
    from inspector.report.json_document import to_json

    report = data.draw(_reports())
    text = to_json(msgspec.to_builtins(report))

    assert msgspec.json.decode(text, type=Report, strict=True) == report


def _reports() -> st.SearchStrategy[Report]:
    counts = st.integers(0, 10**12)
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    figures = st.builds(
        dict,
        **dict.fromkeys(
            (
                "calls",
                "prompt_tokens",
                "peak_prompt_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "uncached_tokens",
                "output_tokens",
                "cache_breaks",
            ),
            st.none() | counts,
        ),
        cost_usd=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        known=st.dictionaries(st.just("calls"), st.sampled_from(["exact", "calibrated", "estimated", "projected"])),
    )
    document = st.fixed_dictionaries(
        {
            "schema": st.just(3),
            "inspector": texts,
            "session": st.fixed_dictionaries(
                {
                    **dict.fromkeys(("path", "format", "id", "title", "agent"), texts),
                    "model": st.none() | texts,
                    "models": st.lists(texts, max_size=2),
                    **dict.fromkeys(
                        ("messages", "blocks", "tool_results", "calls", "compactions", "skipped_records"), counts
                    ),
                }
            ),
            "tokens": st.fixed_dictionaries({"method": texts, "calibration": st.none()}),
            "recorded": st.none() | figures,
            "baseline": figures,
            "plans": st.just([]),
            "warnings": st.lists(texts, max_size=2),
        }
    )
    return document.map(lambda value: msgspec.convert(value, Report))
