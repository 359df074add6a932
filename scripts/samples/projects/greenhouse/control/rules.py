"""When something is done, in degrees Celsius, percent and lux."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """Switch something when a quantity leaves a band.

    Attributes:
        house: Number of the greenhouse.
        quantity: What is measured.
        low: Switch on below this.
        high: Switch off above this.
        actuator: What is switched.
    """

    house: int
    quantity: str
    low: float
    high: float
    actuator: str


RULES = (
    Rule(1, "temperature", 16.0, 26.0, "heating"),
    Rule(1, "humidity", 45.0, 70.0, "fogger"),
    Rule(2, "temperature", 18.0, 28.0, "heating"),
    Rule(2, "carbon dioxide", 500.0, 900.0, "valve"),
    Rule(2, "soil moisture", 35.0, 60.0, "pump"),
    Rule(3, "illuminance", 8000.0, 20000.0, "lamps"),
    Rule(3, "pressure", 980.0, 1040.0, "fan"),
)


def decide(rule, value, is_on):
    """True to switch on, False to switch off, None to leave it."""
    if value < rule.low and not is_on:
        return True
    if value > rule.high and is_on:
        return False
    return None
