"""What every driver offers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """One value.

    Attributes:
        quantity: For example `temperature`.
        value: The number, in the driver's unit.
        unit: The unit's symbol.
    """

    quantity: str
    value: float
    unit: str


class BusError(RuntimeError):
    """The sensor did not answer or answered nonsense."""


def crc8(data, polynomial=0x31, start=0xFF):
    """The checksum most of the sensors here use."""
    crc = start
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1) ^ polynomial if crc & 0x80 else crc << 1
            crc &= 0xFF
    return crc
