"""Currencies and units that people write beside numbers."""

from __future__ import annotations

import re

_SYMBOLS = "$€£¥₹₽₩₺₪฿₫₴₦₱₡₵₸₿¢"
_CODES = (
    "EUR USD GBP JPY CNY RMB CHF AUD CAD NZD SEK NOK DKK ISK PLN CZK HUF RON BGN TRY RUB UAH INR "
    "PKR BDT LKR IDR MYR SGD THB VND PHP KRW TWD HKD BRL MXN ARS CLP COP PEN ZAR EGP MAD NGN KES "
    "GHS ILS SAR AED QAR KWD BTC ETH US$ A$ C$ R$ Rs Rs. Fr. kr kr. zł Kč Ft"
)
CURRENCIES = (*_CODES.split(), *_SYMBOLS)

_PREFIXES = ("", "n", "µ", "μ", "m", "c", "d", "k", "M", "G")
_BASES = ("g", "m", "s", "l", "L", "V", "A", "W", "Wh", "Hz", "Pa", "mol", "bar")
_OTHER = (
    "% ‰ ppm ppb bp bps k K M ° °C °F ºC t kcal cal kJ kN kWp hp PS ha ac sqm sqft sq.ft. "
    "m2 m² m^2 m3 m³ m^3 km2 km² cm2 cm² cm3 cm³ cc mm2 mm² ft² ft2 ft in inch mi mile yd "
    "lb oz st kg/m2 kg/m² g/l g/L g/dl g/dL mg/l mg/L mg/dl mg/dL ng/ml ng/mL µg/l µg/L mmol/l "
    "mmol/L km/h kmh kph mph m/s kt knots rpm bpm mmHg dB dBm hPa psi kB KB MB GB TB KiB MiB GiB "
    "fps px pt h hr hour min minute sec second day week month yr year pcs pc"
)
_PLURALS = "lb hr hour minute second min sec day week month yr year mile"
_KNOWN = {
    **{prefix + base: prefix + base for prefix in _PREFIXES for base in _BASES},
    **{unit: unit for unit in _OTHER.split()},
    **{f"{unit}s": unit for unit in _PLURALS.split()},
    **{"KG": "kg", "Kg": "kg", "KM": "km", "Km": "km", "CM": "cm"},
    **{currency: currency for currency in CURRENCIES},
}

PREFIX = "|".join(re.escape(word) for word in sorted(CURRENCIES, key=len, reverse=True))
SUFFIX = "|".join(re.escape(word) for word in sorted(_KNOWN, key=len, reverse=True))


def unit_called(word: str) -> str | None:
    """The unit of a word, singular and plural alike; None if it is not known.

    Examples
    --------
    >>> unit_called("hours"), unit_called("EUR"), unit_called("apples")
    ('hour', 'EUR', None)
    """
    return _KNOWN.get(word)


def in_words(unit: str) -> str:
    """A unit as a part of a sentence.

    Examples
    --------
    >>> in_words("kg"), in_words("%"), in_words("$")
    ('the unit kg', 'percent signs', 'the currency $')
    """
    if unit == "%":
        return "percent signs"
    return f"the currency {unit}" if unit in CURRENCIES else f"the unit {unit}"
