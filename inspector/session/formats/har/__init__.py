"""Read HAR files: HTTP archives exported by browsers and proxies, with requests to model APIs.

Follows the HAR 1.2 specification (http://www.softwareishard.com/blog/har-12-spec/): `log.entries`, each with a request
body in `postData.text` and a decompressed response body in `content.text`, possibly in base64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.format import Format
from inspector.session.json.values import mapping, objects

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


class HarFormat(Format):
    """HTTP archives with requests to models."""

    name = "har"
    title = "HAR (HTTP archives of requests to models)"
    exact = "tokens of every answered call"

    def recognize(self, sample: Sample) -> str:
        from inspector.session.formats.har.reader import is_model_request

        entries = objects(mapping(mapping(sample.only_value).get("log")).get("entries"))
        found = sum(is_model_request(entry) for entry in entries)
        if not found:
            return ""
        return f"an HTTP archive: {found:,} of {len(entries):,} requests go to a model"

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.har.reader import HarInterpreter
        from inspector.session.json_reader import JsonReader

        return JsonReader(path, self.name, HarInterpreter)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("other")


FORMATS = (HarFormat(),)
