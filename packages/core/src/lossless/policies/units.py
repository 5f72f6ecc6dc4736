"""Units, currencies and month names: the few words of :mod:`lossless.policies.atoms`, in English and as signs."""

from __future__ import annotations

__all__ = ["CODES", "MONEY_WORDS", "MONTHS", "MONTH_NAMES", "NUMBER_WORDS", "SIGNS", "UNITS"]

SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "￥": "jpy", "₹": "inr", "₩": "krw", "₽": "rub", "₿": "btc"}

_CODES = "usd eur gbp jpy chf cad aud cny inr brl mxn sek nok dkk pln krw rub btc eth"
CODES = tuple(_CODES.split())

MONEY_WORDS = {
    **SIGNS,
    **{code: code for code in CODES},
    **dict.fromkeys(("dollar", "dollars", "bucks"), "usd"),
    **dict.fromkeys(("euro", "euros"), "eur"),
    **dict.fromkeys(("pound", "pounds"), "gbp"),
    **dict.fromkeys(("cent", "cents"), "cent"),
    **dict.fromkeys(("rupee", "rupees"), "inr"),
    **{"francs": "chf", "yen": "jpy", "円": "jpy", "元": "cny", "원": "krw"},
}

_SPELLINGS = (
    "ns nanosecond nanoseconds",
    "us µs μs microsecond microseconds",
    "ms msec millisecond milliseconds",
    "s sec secs second seconds",
    "min mins minute minutes",
    "h hr hrs hour hours",
    "d day days",
    "week weeks wk wks",
    "month months",
    "year years yr yrs",
    "night nights",
    "mg milligram milligrams",
    "g gram grams",
    "kg kilo kilos kilogram kilograms",
    "t ton tons tonne tonnes",
    "lb lbs",
    "oz ounce ounces",
    "mm millimeter millimeters millimetre millimetres",
    "cm centimeter centimeters centimetre centimetres",
    "m meter meters metre metres",
    "km kilometer kilometers kilometre kilometres",
    "mi mile miles",
    "ft foot feet",
    "inch inches",
    "ml milliliter milliliters millilitre millilitres",
    "l liter liters litre litres",
    "gal gallon gallons",
    "byte bytes",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "gib",
    "tib",
    "kbps",
    "mbps",
    "gbps",
    "hz",
    "khz",
    "mhz",
    "ghz",
    "v volt volts",
    "w watt watts",
    "kw",
    "kwh",
    "px pixel pixels",
    "token tokens",
    "rpm",
    "qps",
    "°c ℃ celsius",
    "°f fahrenheit",
    "°",
    "x",
)
UNITS = {spelling: group.split()[0] for group in _SPELLINGS for spelling in group.split()}

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTHS = {name: at for at, name in enumerate(_MONTHS.split(), 1)}

_MONTH_NAMES = "january february march april may june july august sept september october november december"
MONTH_NAMES = tuple(_MONTH_NAMES.split())

_COUNTING = (
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
)
NUMBER_WORDS = {word: str(at) for at, word in enumerate(_COUNTING.split())}
