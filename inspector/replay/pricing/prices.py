"""Look up the price of each call by model and date: the user's price file first, then the bundled table.

No multiplier is hard-coded: the ratio of cache prices to input prices differs between models and over time, and always
comes from the prices.
"""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.pricing.price_tables import (
    FAST,
    PriceFile,
    closest_known,
    default_price_file,
    listed_model,
    read_price_file,
    table_source,
)
from inspector.replay.pricing.rates import (
    CODE_EXECUTION,
    CODE_RUNS,
    SEARCH_PRICES,
    TOKENS_PER_PRICE,
    WEB_SEARCH,
    WEB_SEARCHES,
    CallRates,
    DatedRates,
    RateRow,
    Rates,
    surcharge,
)
from inspector.session.billing_terms import BillingTerms
from inspector.tokens.model_names import Categorical, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.replay.pricing.price_tables import ListedModel


SPEED, TIER, PROCESSING, BATCH = "speed", "service_tier", "processing", "batch"
"""Keys of a price's context in the bundled table, and the tier that the table lists under processing."""

FREE, ENDINGS = ":free", {":batch": BATCH, ":online": "online"}
"""Endings that gateways append to a model's name: no price, and the billing terms that the others request.

OpenRouter, model variants (2026-11-28). `:online` searches the web for each request, at a price that no usage reports.
"""

UNNAMED: Final = "no price: the session does not name its model"

_MOST_ALIASES = 8
_DAY = 86_400


class _Found(NamedTuple):
    """A model's name with aliases resolved, its rates in the price file, and its entry in the table."""

    name: str
    own: DatedRates | None
    listed: ListedModel | None


@dataclass(frozen=True)
class Pricing:
    """Price lookup with the user's settings.

    Attributes:
        own: The user's price file.
        factor: Factor on every price, such as 0.5 for a batch at half price.
        model: Price every call as this model; None to use each call's recorded model.
        given: Price every call at these rates, regardless of its model; None to look rates up.
        today: Time assumed for calls without one, seconds since the epoch.
    """

    own: PriceFile = field(default_factory=PriceFile)
    factor: float = 1.0
    model: str | None = None
    given: Rates | None = None
    today: float = field(default_factory=clock.time)
    _known: dict[tuple[str, float, str], Rates | None] = field(default_factory=dict, compare=False, repr=False)
    _meant: dict[str, _Found] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def load(
        cls,
        price_file: Path | None = None,
        factor: float = 1.0,
        model: str | None = None,
        rates: Rates | None = None,
    ) -> Pricing:
        """Load prices with the named price file, or the default one if it exists.

        Args:
            price_file: A price file, as described in `inspector.replay.pricing.price_tables`.
            factor: A further factor on every price, in addition to the file's.

        Raises:
            PriceFileError: The price file cannot be used.
        """
        own = read_price_file(price_file)
        return cls(own=own, factor=factor * own.factor, model=model, given=rates)

    def as_model(self, model: str) -> Pricing:
        """Return the prices with every call priced as a model, at the table's or the price file's rates."""
        return replace(self, model=model, given=None, _known={}, _meant={})

    def rates(self, model: str, time: float | None = None, terms: str = "") -> Rates | None:
        """Return a model's rates at a time, by default today, without the factor; None if it has no price."""
        name, own, listed = self._found(model)
        if listed is None and (own is None or not own.later):
            rounded = 0.0
        else:
            time = self.today if time is None or time != time else time
            is_fine = listed is not None and listed.changes_within_day
            rounded = float(time // 1 if is_fine else time // _DAY * _DAY)
        key = (name, rounded, terms)
        if key not in self._known:
            reported = BillingTerms.of_code("" if self.given is not None else terms)
            if listed is not None:
                reported = _with_terms_of_name(reported, name, listed)
            self._known[key] = self._under(reported, own and own.at(rounded), listed, rounded)
        return self._known[key]

    def _under(self, terms: BillingTerms, own: Rates | None, listed: ListedModel | None, time: float) -> Rates | None:
        """Return the rates under some terms: the table's if listed, otherwise the standard rates times a factor."""
        asked = ((SPEED, terms.speed), (TIER, terms.tier), ("", terms.region))
        context, factor, unpriced = {}, 1.0, []
        usual = own if own is not None or listed is None else listed.rates(time)
        if usual is None:
            return None
        for key, word in asked:
            if not word:
                continue
            keys = (PROCESSING,) if word == BATCH else (key, TIER) if word == FAST else (key,)
            priced = None
            if own is None and listed is not None and word not in self.own.terms:
                priced = next((each for each in keys if listed.has_price_for(each, word, time)), None)
            if priced is not None:
                context[priced] = word
                continue
            more = self.own.terms.get(word, surcharge(usual.provider, usual.model, word))
            if more is None:
                unpriced.append(word)
            else:
                factor *= more
        rates = listed.rates(time, context) if context and listed is not None else usual
        if rates is None:
            return None
        return self._with_uses(rates if factor == 1 else rates.times(factor), terms, unpriced)

    def _with_uses(self, rates: Rates, terms: BillingTerms, unpriced: list[str]) -> Rates:
        """Add the charges for a provider's own tools and for media tokens."""
        per_call = rates.per_call
        search = SEARCH_PRICES.get(rates.provider) if rates.web_search is None else rates.web_search
        uses = (
            (terms.web_searches, self.own.terms.get(WEB_SEARCH, search), WEB_SEARCHES),
            (terms.code_runs, self.own.terms.get(CODE_EXECUTION), CODE_RUNS),
        )
        for times, dollars, word in uses:
            if times and dollars is None:
                unpriced.append(word)
            per_call += times * (dollars or 0.0)
        for kind, served, tokens in terms.media:
            price = rates.media_price(kind, served)
            if price is None:
                unpriced.append(f"{kind} tokens")
            else:
                per_call += tokens * (price - rates.text_price(served)) / TOKENS_PER_PRICE
        return replace(rates, per_call=per_call, terms=terms.label, unpriced=tuple(dict.fromkeys(unpriced)))

    def call_rates(
        self,
        models: Sequence[str] | Categorical,
        times: NDArray[np.float64],
        terms: Sequence[str] | Categorical | None = None,
    ) -> CallRates:
        """Look up the rates of every call, standard by default, for any replays; times in seconds, or NaN."""
        names, code = Categorical.of(models)
        reported, terms_code = Categorical.of(["" for _ in code] if terms is None else terms)
        if not len(code):
            return CallRates.of((None,), np.zeros(0, dtype=np.int32), self.factor)
        within_day = np.array([self._changes_within_day(model) for model in names], dtype=np.bool_)
        rounded = np.floor(np.where(np.isnan(times), self.today, times))
        rounded = np.where(within_day[code], rounded, np.floor(rounded / _DAY) * _DAY).astype(np.int64)
        code = code * len(reported) + terms_code
        first = int(rounded.min())
        span = int(rounded.max()) - first + 1
        keys, index = np.unique(code * span + (rounded - first), return_inverse=True)
        rates = tuple(
            self.rates(
                names[key // span // len(reported)], float(key % span + first), reported[key // span % len(reported)]
            )
            for key in keys.tolist()
        )
        return CallRates.of(rates, index.astype(np.int32), self.factor)

    def provider(self, model: str) -> str:
        """Return the provider at these prices: `anthropic`, `openai`, `aws`; empty if unknown."""
        _, own, listed = self._found(model)
        if own is not None:
            return own.first.provider
        return listed.provider if listed else ""

    def priced_as(self, model: str) -> str:
        """Return the different name a model is priced under: `gpt-5` for `gpt-5-codex`; empty if there is none.

        Also empty if all calls are priced as one model or at given rates, because the user chose these.
        """
        if self.given is not None or self.model is not None:
            return ""
        _, own, listed = self._found(model)
        other = own.first.model if own is not None else listed.model if listed is not None else ""
        mine, its = (parse_model_name(name).name.replace(".", "-") for name in (model, other))
        return other if mine not in its else ""

    def own_window(self, model: str) -> int | None:
        """Return a model's context window in tokens from the user's price file, or None.

        A model that only prices a session as another one does not change the prompts, nor their window.
        """
        name = self._own_name(model)
        return next((self.own.windows[way] for way in _ways_to_write(name) if way in self.own.windows), None)

    def listed_window(self, model: str) -> int | None:
        """Return a model's context window in tokens from the bundled table, or None."""
        name = self._own_name(model)
        listed = listed_model(name) if name else None
        return None if listed is None else listed.window

    def unknown(self, models: Iterable[str]) -> tuple[str, ...]:
        """Return the distinct models without a price, in order."""
        return tuple(model for model in dict.fromkeys(models) if self.rates(model) is None)

    def advice(self, models: Iterable[str]) -> str:
        """Return one line on how to add prices for models without one, from the command line; empty if all have one."""
        reason = self.lacking(models)
        if not reason:
            return ""
        if reason == UNNAMED:
            return f"{reason}; set one with --model"
        path = self.own.path or default_price_file()
        return f"{reason}; set --model or --rates, or add a price to {path}"

    def lacking(self, models: Iterable[str]) -> str:
        """Return one line that names the models without a price; empty if all have one."""
        unknown = self.unknown(models)
        if not unknown:
            return ""
        if self.model is not None:
            unknown = (self.model,)
        named = [model for model in unknown if model]
        if not named:
            return UNNAMED
        nearest = closest_known(named[0], 1)
        like = f" ({nearest})" if nearest else ""
        return f"no price for {', '.join(named)}{like}"

    @property
    def source(self) -> str:
        """Source and date of the prices, in a few words."""
        parts = [f"{self.own.path}, changed {self.own.date}"] if self.own.path else []
        given = self.given
        if given is None:
            parts.append(table_source())
        else:
            rates = (
                f"{given.input:g} in, {given.output:g} out, {given.cache_read:g} read, {given.cache_write_5m:g} written"
            )
            parts.append(f"given rates: {rates}")
        if self.factor != 1:
            parts.append(f"times {self.factor:g}")
        if self.model:
            parts.append(f"all calls priced as {self.model}")
        return "; ".join(parts)

    def _found(self, model: str) -> _Found:
        found = self._meant.get(model)
        if found is None:
            found = self._meant[model] = self._looked_up(model)
        return found

    def _own_name(self, model: str) -> str:
        """Return a model's name with aliases resolved; for an unnamed model the one that prices every call."""
        return self._looked_up(model, model or self.model or "").name

    def _looked_up(self, model: str, name: str | None = None) -> _Found:
        """Find a model, or the one called `name`, in the price file and the table."""
        name = (name or self.model or model).strip().lower()
        if self.given is not None:
            return _Found(name, DatedRates(self.given), None)
        for _ in range(_MOST_ALIASES):
            written = _ways_to_write(name)
            own = next((self.own.models[way] for way in written if way in self.own.models), None)
            if own is not None:
                return _Found(name, own, None)
            alias = next((self.own.aliases[way] for way in written if way in self.own.aliases), None)
            if alias is None:
                break
            name = alias
        listed = listed_model(name) if name else None
        if parse_model_name(name).as_served.endswith(FREE):
            provider = listed.provider if listed else "openrouter"
            return _Found(name, DatedRates(Rates(name, provider, (RateRow(0, 0, 0, 0, 0, 0),))), None)
        return _Found(name, None, listed)

    def _changes_within_day(self, model: str) -> bool:
        _, _, listed = self._found(model)
        return listed is not None and listed.changes_within_day


def _with_terms_of_name(terms: BillingTerms, name: str, listed: ListedModel) -> BillingTerms:
    """Add the billing terms that a name requests, unless the model found for it is listed under them."""
    parts = parse_model_name(name)
    if not terms.speed and parts.name.endswith(f"-{FAST}") and FAST not in listed.model:
        terms = terms._replace(speed=FAST)
    ending = next((each for each in ENDINGS if parts.as_served.endswith(each) and each not in listed.model), None)
    return terms if ending is None or terms.tier else terms._replace(tier=ENDINGS[ending])


def _ways_to_write(name: str) -> tuple[str, ...]:
    """Return a model's name as recorded, then with affixes removed step by step."""
    parts = parse_model_name(name)
    return name, parts.as_served, parts.name
