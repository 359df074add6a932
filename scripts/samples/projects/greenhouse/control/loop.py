"""Read every sensor, apply every rule."""

import importlib
import tomllib
from pathlib import Path

from control.rules import RULES, decide
from drivers.base import BusError


def sensors(path=Path("config/greenhouse.toml")):
    """The sensors of the configuration: house, module name, bus address."""
    with open(path, "rb") as file:
        return [(entry["house"], entry["driver"], entry["address"]) for entry in tomllib.load(file)["sensor"]]


def read(driver, raw):
    """What one driver makes of the bytes on its bus."""
    return importlib.import_module(f"drivers.{driver}").decode(raw)


def step(values, states):
    """One round: what is to be switched, as (house, actuator, on)."""
    switched = []
    for rule in RULES:
        value = values.get((rule.house, rule.quantity))
        if value is None:
            continue
        wanted = decide(rule, value, states.get((rule.house, rule.actuator), False))
        if wanted is not None:
            switched.append((rule.house, rule.actuator, wanted))
    return switched


__all__ = ["BusError", "read", "sensors", "step"]
