"""Read the user's price file: prices missing from the bundled table or overriding it, model aliases, a discount.

It is TOML, by default `prices.toml` in this platform's settings folder:

    factor = 0.5                       # everything at half price, as in a batch

    [aliases]
    "house-model" = "claude-opus-4-8"  # price this name as that one

    [models."gpt-5.3-codex-spark"]     # dollars per million tokens, for any route or date around the name
    input = 1.75
    output = 14
    cache_read = 0.175                 # default: the price of `input`
    cache_write_5m = 1.75              # default: the price of `input`
    cache_write_1h = 1.75              # default: the price of `cache_write_5m`
    window = 200000                    # context window in tokens; default: the bundled table's.
                                       # A model with only a window keeps the table's prices

    input_audio = 40                   # also output_audio, cache_read_audio, and the same for image and video.
                                       # Defaults: images cost the same as text, audio has no known price

    [[models."gpt-5.3-codex-spark".tiers]]
    above = 272000                     # prompts longer than this pay these rates for every token
    input = 3.5
    output = 21

    [[models."gpt-5.3-codex-spark".from]]
    date = 2026-12-01                  # calls from this day on (UTC) pay these rates: introductory prices end
    input = 2.5
    output = 20

    [terms]                            # surcharges, by the name that the records use
    fast = 6                           # factor on every token price
    web_search = 0.01                  # dollars per search made by the provider
    code_execution = 0.004             # dollars per code execution by the provider
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import platformdirs

from inspector.atomic_files import APPLICATION
from inspector.errors import InspectorError
from inspector.replay.pricing.rates import DatedRates, MediaRate, RateRow, Rates
from inspector.session.billing_terms import CACHE_READ, INPUT, MEDIA, OUTPUT
from inspector.session.files import is_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_RATE_KEYS = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
_MEDIA_KEYS = {f"{served}_{kind}": (kind, served) for kind in MEDIA for served in (INPUT, CACHE_READ, OUTPUT)}
_MODEL_KEYS = (*_RATE_KEYS, *_MEDIA_KEYS, "tiers")


class PriceFileError(InspectorError):
    """An unusable price file; the one-line message names the place, the wrong value and the valid ones."""

    advice = "fix or remove the price file"


@dataclass(frozen=True)
class PriceFile:
    """Contents of a price file.

    Attributes:
        path: The file; None if there is none.
        models: Rates by model name in lower case.
        aliases: Model name by alias, both in lower case.
        windows: Context windows in tokens by model name in lower case.
        factor: Factor on every price.
        terms: Factors by name of the term in lower case, and dollars per `web_search` and `code_execution`.
        date: Day of the file's last change, empty if there is none.
    """

    path: Path | None = None
    models: Mapping[str, DatedRates] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    factor: float = 1.0
    terms: Mapping[str, float] = field(default_factory=dict)
    date: str = ""


def default_price_file() -> Path:
    return platformdirs.user_config_path(APPLICATION) / "prices.toml"


def read_price_file(path: Path | None = None) -> PriceFile:
    """Read a price file; without a path the default one, which need not exist.

    Raises:
        PriceFileError: The named file does not exist, is not TOML, or has an invalid price.
    """
    if path is None and not is_file(default_price_file()):
        return PriceFile()
    path = path or default_price_file()
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    except OSError as error:
        raise PriceFileError(f"cannot read {path}: {error.strerror or error}; name an existing price file") from None
    except (tomllib.TOMLDecodeError, RecursionError, UnicodeDecodeError) as error:
        raise PriceFileError(f"{path} is not valid TOML: {error}") from None
    return _Reader(path).price_file(content, changed)


@dataclass(frozen=True)
class _Reader:
    """Converts decoded TOML to rates; errors name the file."""

    path: Path

    def price_file(self, content: dict[str, object], changed: str) -> PriceFile:
        self._only(content, ("factor", "aliases", "models", "terms"), "the file")
        models = {
            name.lower(): self._dated(name, table)
            for name, table in self._table(content.get("models", {}), "models").items()
            if not isinstance(table, dict) or set(table) != {"window"}
        }
        aliases = self._table(content.get("aliases", {}), "aliases")
        for name, target in aliases.items():
            if not isinstance(target, str):
                raise self._error(f"aliases.{name}", target, "a model's name in quotes")
        factor = self._number(content.get("factor", 1.0), "factor")
        terms = self._table(content.get("terms", {}), "terms")
        return PriceFile(
            path=self.path,
            models=models,
            windows=self._windows(self._table(content.get("models", {}), "models")),
            aliases={name.lower(): str(target).lower() for name, target in aliases.items()},
            factor=factor,
            terms={word.lower(): self._number(value, f"terms.{word}") for word, value in terms.items()},
            date=changed,
        )

    def _dated(self, name: str, value: object) -> DatedRates:
        place = f"models.{name}"
        table = self._table(value, place)
        self._only(table, (*_MODEL_KEYS, "provider", "window", "from"), place)
        provider = table.get("provider", "")
        if not isinstance(provider, str):
            raise self._error(f"{place}.provider", provider, "a provider's name in quotes")
        changes = table.get("from", [])
        if not isinstance(changes, list):
            raise self._error(f"{place}.from", changes, "a list of tables, each with `date` and rates")
        later: list[tuple[float, Rates]] = []
        for index, change in enumerate(changes):
            change_place = f"{place}.from[{index}]"
            change_table = self._table(change, change_place)
            self._only(change_table, (*_MODEL_KEYS, "date"), change_place)
            day = change_table.get("date")
            start = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() if isinstance(day, date) else None
            if start is None or (later and start <= later[-1][0]):
                raise self._error(f"{change_place}.date", day, "a date such as 2026-12-01, after the previous one")
            later.append((start, self._rates(name, change_table, change_place, provider)))
        return DatedRates(self._rates(name, table, place, provider), tuple(later))

    def _rates(self, name: str, table: Mapping[str, object], place: str, provider: str) -> Rates:
        tiers = table.get("tiers", [])
        if not isinstance(tiers, list):
            raise self._error(f"{place}.tiers", tiers, "a list of tables, each with `above` and rates")
        base = self._row(table, place, above=0, lower=None)
        rows = [base]
        for index, tier in enumerate(tiers):
            tier_place = f"{place}.tiers[{index}]"
            tier_table = self._table(tier, tier_place)
            self._only(tier_table, (*_RATE_KEYS, "above"), tier_place)
            above = tier_table.get("above")
            if isinstance(above, bool) or not isinstance(above, int) or above <= rows[-1].above:
                raise self._error(f"{tier_place}.above", above, f"a whole number of tokens above {rows[-1].above:,}")
            rows.append(self._row(tier_table, tier_place, above=above, lower=base))
        media = tuple(
            MediaRate(*served, self._number(table[key], f"{place}.{key}"))
            for key, served in _MEDIA_KEYS.items()
            if key in table
        )
        return Rates(model=name, provider=provider.lower(), rows=tuple(rows), media=media)

    def _windows(self, models: Mapping[str, object]) -> dict[str, int]:
        windows = {}
        for name, value in models.items():
            window = self._table(value, f"models.{name}").get("window")
            if window is None:
                continue
            if isinstance(window, bool) or not isinstance(window, int) or window < 1:
                raise self._error(f"models.{name}.window", window, "a positive whole number of tokens")
            windows[name.lower()] = window
        return windows

    def _row(self, table: Mapping[str, object], place: str, above: int, lower: RateRow | None) -> RateRow:
        given = {key: self._number(table[key], f"{place}.{key}") for key in _RATE_KEYS if key in table}
        for key in ("input", "output"):
            if key not in given:
                if lower is None:
                    raise PriceFileError(
                        f"{self.path}: {place}: `{key}` is missing; add it in dollars per million tokens"
                    )
                given[key] = lower.input if key == "input" else lower.output
        write = given.get("cache_write_5m", given["input"])
        return RateRow(
            above=above,
            input=given["input"],
            cache_read=given.get("cache_read", given["input"]),
            cache_write_5m=write,
            cache_write_1h=given.get("cache_write_1h", write),
            output=given["output"],
        )

    def _table(self, value: object, place: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self._error(place, value, "a table")
        return value

    def _only(self, table: Mapping[str, object], allowed: tuple[str, ...], place: str) -> None:
        for key in table:
            if key not in allowed:
                raise PriceFileError(f"{self.path}: {place} has no `{key}`; valid keys: {', '.join(allowed)}")

    def _number(self, value: object, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise self._error(place, value, "a number of at least 0")
        return float(value)

    def _error(self, place: str, value: object, wanted: str) -> PriceFileError:
        return PriceFileError(f"{self.path}: {place} = {value!r} is not allowed; expected {wanted}")
