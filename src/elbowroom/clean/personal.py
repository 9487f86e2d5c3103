"""What tells of a person in a text, as far as its form says so for certain: mail addresses, card numbers, IBANs. Data.

Knows: the check digits of cards and accounts, how long the IBANs of each country are, and what looks like an address
and is the name of a file.
Does not know: names, streets, telephone numbers: their form is not certain enough to take them for what they are.
"""

from __future__ import annotations

from elbowroom.clean.secrets import Rule

# IBAN registry, release 99: country -> characters.
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28,
    "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20,
    "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25,
    "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27,
    "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip
_FILES = frozenset(("png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "ts", "json", "html", "md", "py"))


def mail(found: str) -> int:
    """0 for `icon@2x.png` and for `git@host`, which is nobody's."""
    user, _, host = found.rpartition("@")
    return 0 if user == "git" or host.rpartition(".")[2].lower() in _FILES else len(found)


def luhn(found: str) -> int:
    """ISO/IEC 7812-1: from the right every second digit doubled, its digits added; the sum ends in 0."""
    digits = [int(char) for char in reversed(found) if char.isdigit()]
    total = sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return 0 if total % 10 or len(set(digits)) == 1 else len(found)


def iban(found: str) -> int:
    """ISO 13616: the first four characters moved to the end, letters as 10 to 35, the remainder by 97 is 1.

    Capitals and digits may go on behind it; how long it is, the country says.
    """
    wanted = _IBAN_LENGTHS.get(found[:2], 0)
    places = [at for at, char in enumerate(found) if char not in " -"]
    if not 0 < wanted <= len(places):
        return 0
    end = places[wanted - 1]
    account = found[: end + 1].replace(" ", "").replace("-", "")
    number = int("".join(str(int(char, 36)) for char in account[4:] + account[:4]))
    return end + 1 if number % 97 == 1 else 0


_ACCENTED = "\u00c0-\u024f"  # Latin letters beyond ASCII; words of other scripts may touch an address
_LETTER = f"A-Za-z0-9{_ACCENTED}"
_SIXTEEN = r"(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6011|6[45]\d{2}|62\d{2}|35\d{2})"

PERSONAL: tuple[Rule, ...] = (
    Rule(
        "mail",
        rf"(?:\b[A-Za-z0-9]|_|[{_ACCENTED}])[{_LETTER}._%+-]{{0,63}}@"
        rf"(?:[{_LETTER}](?:[{_LETTER}-]{{0,61}}[{_LETTER}])?\.){{1,8}}[A-Za-z]{{2,24}}\b",
        check=mail,
    ),
    Rule(
        "card",
        rf"\b(?:{_SIXTEEN}(?:\d{{12}}(?:\d{{3}})?|(?: \d{{4}}){{3}}|(?:-\d{{4}}){{3}})"
        r"|3[47]\d{2}(?:\d{11}| \d{6} \d{5}|-\d{6}-\d{5})|3(?:0[0-5]|[68]\d)\d(?:\d{10}| \d{6} \d{4}|-\d{6}-\d{4}))\b",
        check=luhn,
    ),
    Rule("iban", r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b", check=iban),
)
