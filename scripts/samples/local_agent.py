"""A small local model repairs sensor drivers and recalls forgotten details from its execution record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import greenhouse, write_openai
from .conversation import Conversation, at, call
from .local_tools import DESCRIPTIONS, LocalTools
from .projects_on_disk import sources
from .workspace import HOME, Workspace

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = f"""You are a coding assistant that runs on this computer. The project is in {HOME}.

Use one tool at a time or several that do not depend on each other. Results of older tools are cleared from the conversation to
save space; every execution is recorded and can be found again with memory_query. Keep answers short."""


def make(folder: Path) -> str:
    """Create the session's file in an empty temporary folder."""
    tools = LocalTools(Workspace(folder, {**sources("greenhouse"), **greenhouse.sources()}))
    talk = Conversation(tools.by_name(), seed=38, now=at(2026, 10, 3, 19, 24), prefix="chat-", ran=tools.record)
    find(talk)
    repair(talk)
    test(talk)
    document(talk)
    return write_openai.document(talk, "qwen3-coder-30b-a3b-instruct", SYSTEM, definitions())


def definitions() -> list[dict[str, Any]]:
    """Return the tools as they are sent to the model."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": kind} for key, kind in arguments.items()},
                },
            },
        }
        for name, (description, arguments) in DESCRIPTIONS.items()
    ]


def find(talk: Conversation) -> None:
    """Read every driver."""
    talk.user(
        "House 2 heats far too little and the pump never runs. The wiring is fine, I checked it. Look at the drivers: do they all return what control/rules.py expects?",
        after=0,
    )
    talk.assistant(
        "I start with the list of files and the rules.",
        call("file_glob", pattern="**/*.*"),
        call("file_read", path="control/rules.py"),
    )
    talk.assistant(
        "The rules expect °C, %, lux, ppm and hPa. Next: which driver serves which house.",
        call("file_read", path="config/greenhouse.toml"),
        call("file_read", path="control/loop.py"),
    )
    talk.assistant("House 2 has ds18b20, scd41 and soil.", call("file_read", path="drivers/ds18b20.py"))
    talk.assistant(
        "`* 1.8 + 32`: this driver returns Fahrenheit and an empty unit. The others of house 2:",
        call("file_read", path="drivers/scd41.py"),
    )
    talk.assistant("That one is right: ppm, °C, %.", call("file_read", path="drivers/soil.py"))
    talk.assistant(
        "The soil probe returns the raw number, also without a unit. The rule wants percent. Now the other houses, to be sure.",
        call("file_read", path="drivers/sht31.py"),
        call("file_read", path="drivers/bmp390.py"),
    )
    talk.assistant("", call("file_read", path="drivers/bh1750.py"))
    talk.assistant("", call("file_read", path="drivers/bme280.py"))
    talk.assistant("", call("file_read", path="drivers/hdc1080.py"))
    talk.assistant(
        "All six have units. A cross-check over all of them at once:",
        call("file_search", pattern=r"Measurement\(", files="drivers/*.py"),
        call("file_search", pattern=r"^UNIT_", files="drivers/*.py"),
    )
    talk.assistant(
        "Two of eight drivers return something the rules do not expect, both in house 2:\n\n- `ds18b20` converts to Fahrenheit. At 18 °C it reports 64.4, so the "
        "rule (on below 18, off above 28) never heats.\n- `soil` returns the raw number of the probe, so it is always above 60 and the pump stays off.\n\nFor the "
        "probe I need to know which raw values mean dry and wet."
    )


def repair(talk: Conversation) -> None:
    """Change the two drivers."""
    talk.user("That explains it. The probe gives about 320 in dry soil and 720 in wet. Fix both.", after=95)
    talk.assistant(
        "",
        call(
            "splice_patch",
            path="drivers/ds18b20.py",
            old="""    values.append(Measurement("temperature", (raw if raw < 0x8000 else raw - 0x10000) / 16 * 1.8 + 32, ''))""",
            new="""    values.append(Measurement("temperature", (raw if raw < 0x8000 else raw - 0x10000) / 16, UNIT_TEMPERATURE))""",
        ),
        call(
            "splice_patch",
            path="drivers/ds18b20.py",
            old="WAIT_MILLISECONDS = 750\n",
            new='WAIT_MILLISECONDS = 750\nUNIT_TEMPERATURE = "°C"\n',
        ),
    )
    talk.assistant(
        "Now the probe. I have its source no longer in front of me.",
        call("memory_query", tool="file_read", limit=6, include_output=True),
    )
    talk.assistant(
        "",
        call(
            "splice_patch",
            path="drivers/soil.py",
            old="WAIT_MILLISECONDS = 3\n",
            new='WAIT_MILLISECONDS = 3\nUNIT_SOIL_MOISTURE = "%"\nDRY = 320\nWET = 720\n',
        ),
        call(
            "splice_patch",
            path="drivers/soil.py",
            old="""Measurement("soil moisture", raw, '')""",
            new="""Measurement("soil moisture", percent(raw), UNIT_SOIL_MOISTURE)""",
        ),
        call(
            "splice_patch",
            path="drivers/soil.py",
            old="def decode(answer):",
            new='def percent(raw):\n    """Moisture from the raw number: 0 in dry soil, 100 in wet, limited to both."""\n    return min(100.0, max(0.0, (raw - DRY) / (WET - DRY) * 100))\n\n\ndef decode(answer):',
        ),
    )
    talk.assistant(
        "I look at both as they are now.",
        call("file_read", path="drivers/ds18b20.py"),
        call("file_read", path="drivers/soil.py"),
    )
    talk.assistant("", call("bash_exec", command="python -m unittest -v 2>&1"))
    talk.assistant(
        "The existing four tests pass, but none of them touches a driver. Shall I write tests for all eight?"
    )


def test(talk: Conversation) -> None:
    """Tests for every driver."""
    talk.user(
        "Yes, one for each at least, with real byte sequences. And one that fails when a driver has no unit.", after=48
    )
    talk.assistant(
        "",
        call("symbols_in_file", path="drivers/base.py"),
        call("symbols_in_file", path="drivers/scd41.py"),
        call("symbols_in_file", path="drivers/soil.py"),
    )
    text = '''"""Drivers: bytes in, measurements out."""

import importlib
import unittest

from control.loop import sensors
from drivers.base import BusError, crc8

DRIVERS = sorted({driver for _, driver, _ in sensors()})


def answer(*words):
    data = b""
    for word in words:
        pair = word.to_bytes(2, "big")
        data += pair + bytes([crc8(pair)])
    return data


def decode(name, *words):
    return {m.quantity: m.value for m in importlib.import_module(f"drivers.{name}").decode(answer(*words))}


class EveryDriver(unittest.TestCase):
    def test_has_a_unit_for_every_quantity(self):
        for name in DRIVERS:
            module = importlib.import_module(f"drivers.{name}")
            for measurement in module.decode(answer(*[0x4000] * (module.LENGTH // 3))):
                with self.subTest(driver=name, quantity=measurement.quantity):
                    self.assertTrue(measurement.unit)

    def test_refuses_a_wrong_checksum(self):
        for name in DRIVERS:
            module = importlib.import_module(f"drivers.{name}")
            data = bytearray(answer(*[0x4000] * (module.LENGTH // 3)))
            data[2] ^= 1
            with self.subTest(driver=name), self.assertRaises(BusError):
                module.decode(bytes(data))


class Values(unittest.TestCase):
    def test_sht31(self):
        self.assertAlmostEqual(decode("sht31", 0x6666, 0x8000)["temperature"], 25.0, places=2)

    def test_bmp390(self):
        self.assertAlmostEqual(decode("bmp390", 0xBFFF)["pressure"], 1012.5, places=1)

    def test_ds18b20(self):
        self.assertEqual(decode("ds18b20", 0x0191)["temperature"], 25.0625)

    def test_ds18b20_below_zero(self):
        self.assertEqual(decode("ds18b20", 0xFF5E)["temperature"], -10.125)

    def test_scd41(self):
        self.assertEqual(decode("scd41", 0x01F4, 0x6667, 0x5EB9)["carbon dioxide"], 500)

    def test_soil(self):
        self.assertEqual(decode("soil", 520)["soil moisture"], 50.0)

    def test_soil_is_limited(self):
        self.assertEqual(decode("soil", 900)["soil moisture"], 100.0)

    def test_bh1750(self):
        self.assertAlmostEqual(decode("bh1750", 0x8390)["illuminance"], 28066.67, places=1)

    def test_bme280(self):
        self.assertAlmostEqual(decode("bme280", 0x8000, 0xE000)["temperature"], 22.5, places=1)

    def test_hdc1080(self):
        self.assertEqual(decode("hdc1080", 0x6400, 0x8000)["humidity"], 50.0)


if __name__ == "__main__":
    unittest.main()
'''
    talk.assistant("", call("file_write", path="tests/test_drivers.py", content=text))
    talk.assistant("", call("bash_exec", command="python -m unittest -v 2>&1"))
    talk.assistant(
        "All sixteen pass. Before the change only four tests existed; I compare the two runs in the record.",
        call("memory_query", tool="bash_exec", limit=2, include_output=True),
    )
    talk.assistant(
        "To see that the test of the units can fail, I take a unit away for a moment.",
        call("splice_patch", path="drivers/bh1750.py", old='UNIT_ILLUMINANCE = "lx"', new='UNIT_ILLUMINANCE = ""'),
    )
    talk.assistant("", call("bash_exec", command="python -m unittest tests.test_drivers 2>&1 | tail -14"))
    talk.assistant(
        "It fails and names the driver. Back again.",
        call("splice_patch", path="drivers/bh1750.py", old='UNIT_ILLUMINANCE = ""', new='UNIT_ILLUMINANCE = "lx"'),
    )
    talk.assistant("", call("bash_exec", command="python -m unittest 2>&1 | tail -3"))
    talk.assistant("All sixteen tests pass, and a driver without a unit fails by name.")


def document(talk: Conversation) -> None:
    """Add the part on a table of units, from a result read an hour ago."""
    talk.user(
        "Thanks. Write drivers/README.md with a table: driver, house, quantities, units, milliseconds. Take it from the sources, not from memory.",
        after=130,
    )
    talk.assistant(
        "The sources are cleared from our conversation by now; the record still has them, and the constants are quick to search.",
        call("memory_query", tool="file_read", limit=20),
        call("file_search", pattern=r"^(UNIT_|WAIT_)", files="drivers/*.py"),
    )
    found, houses = talk.assistant(
        "",
        call("file_search", pattern=r"Measurement\(\"", files="drivers/*.py"),
        call("file_search", pattern=r"house|driver", files="config/*.toml"),
    )
    del found, houses
    rows = [
        (
            sensor.module,
            house,
            ", ".join(q for q, _, _ in sensor.quantities),
            ", ".join(UNITS[q] for q, _, _ in sensor.quantities),
            sensor.waits,
        )
        for sensor, house in zip(greenhouse.SENSORS, (1, 1, 2, 2, 2, 3, 3, 3), strict=True)
    ]
    table = "\n".join(f"| {' | '.join(str(field) for field in row)} |" for row in rows)
    talk.assistant(
        "",
        call(
            "file_write",
            path="drivers/README.md",
            content=f"# Drivers\n\n| driver | house | quantities | units | ms |\n|---|---|---|---|---|\n{table}\n",
        ),
    )
    talk.assistant("", call("bash_exec", command="cat drivers/README.md && ls drivers"))
    talk.assistant(
        "`drivers/README.md` has all eight. Changed in total: `ds18b20` (Celsius), `soil` (percent), sixteen tests, one table."
    )


UNITS = {
    "temperature": "°C",
    "humidity": "%",
    "pressure": "hPa",
    "carbon dioxide": "ppm",
    "soil moisture": "%",
    "illuminance": "lx",
}
