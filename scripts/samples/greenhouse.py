"""The sensor drivers of the greenhouse: modules of one shape, as a folder of drivers is, two of them with a mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sensor:
    """Properties of one driver.

    Attributes:
        module: Name of the module.
        title: Name of the part.
        quantities: Quantity, unit, and the expression that turns the two raw bytes `raw` into a value.
        start: First byte of every quantity in the answer.
        waits: Milliseconds a measurement takes.
    """

    module: str
    title: str
    quantities: tuple[tuple[str, str, str], ...]
    start: tuple[int, ...]
    waits: int


SENSORS = (
    Sensor(
        "sht31",
        "SHT31",
        (("temperature", "°C", "-45 + 175 * raw / 65535"), ("humidity", "%", "100 * raw / 65535")),
        (0, 3),
        15,
    ),
    Sensor("bmp390", "BMP390", (("pressure", "hPa", "300 + 950 * raw / 65535"),), (0,), 40),
    Sensor(
        "ds18b20",
        "DS18B20",
        (("temperature", "", "(raw if raw < 0x8000 else raw - 0x10000) / 16 * 1.8 + 32"),),
        (0,),
        750,
    ),
    Sensor(
        "scd41",
        "SCD41",
        (
            ("carbon dioxide", "ppm", "raw"),
            ("temperature", "°C", "-45 + 175 * raw / 65535"),
            ("humidity", "%", "100 * raw / 65535"),
        ),
        (0, 3, 6),
        5000,
    ),
    Sensor("soil", "capacitive soil probe", (("soil moisture", "", "raw"),), (0,), 3),
    Sensor("bh1750", "BH1750", (("illuminance", "lx", "raw / 1.2"),), (0,), 180),
    Sensor(
        "bme280",
        "BME280",
        (("temperature", "°C", "-40 + 125 * raw / 65535"), ("pressure", "hPa", "300 + 800 * raw / 65535")),
        (0, 3),
        10,
    ),
    Sensor(
        "hdc1080",
        "HDC1080",
        (("temperature", "°C", "-40 + 165 * raw / 65536"), ("humidity", "%", "100 * raw / 65536")),
        (0, 3),
        7,
    ),
)


def driver(sensor: Sensor) -> str:
    """Return the source of one driver."""
    names = ", ".join(quantity for quantity, _, _ in sensor.quantities)
    length = 3 * len(sensor.quantities)
    constants = "\n".join(
        f'UNIT_{quantity.upper().replace(" ", "_")} = "{unit}"' for quantity, unit, _ in sensor.quantities if unit
    )
    decoded = "\n".join(
        f"    raw = word(answer, {start})\n"
        f'    values.append(Measurement("{quantity}", {expression}, '
        f"{'UNIT_' + quantity.upper().replace(' ', '_') if unit else repr('')}))"
        for (quantity, unit, expression), start in zip(sensor.quantities, sensor.start, strict=True)
    )
    return f'''"""{sensor.title}: {names}.

An answer has {length} bytes: two for every quantity, most significant first, each pair followed by its checksum. A
measurement takes {sensor.waits} ms; asking earlier returns the previous one.
"""

from drivers.base import BusError, Measurement, crc8

LENGTH = {length}
WAIT_MILLISECONDS = {sensor.waits}
{constants}


def word(answer, start):
    """Two bytes of an answer as a number, their checksum verified."""
    pair, checksum = answer[start : start + 2], answer[start + 2]
    if crc8(pair) != checksum:
        raise BusError(f"{sensor.module}: checksum of byte {{start}} is {{checksum:#04x}}, expected {{crc8(pair):#04x}}")
    return pair[0] << 8 | pair[1]


def decode(answer):
    """The measurements in an answer.

    Raises:
        BusError: The answer is too short or a checksum is wrong.
    """
    if len(answer) != LENGTH:
        raise BusError(f"{sensor.module}: {{len(answer)}} bytes, expected {{LENGTH}}")
    values = []
{decoded}
    return values
'''


def sources() -> dict[str, str]:
    """Every driver by its path in the project."""
    return {f"drivers/{sensor.module}.py": driver(sensor) for sensor in SENSORS}
