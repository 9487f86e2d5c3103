"""Secrets and personal data that nobody owns, made when they are asked for, so that none stands in a file.

Knows: for each rule what its kind looks like, written down apart from the rule.
Does not know: how any of it is found.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM, HEX = UPPER + LOWER + DIGITS, DIGITS + "abcdef"
BASE64, URL64 = ALNUM + "+/", ALNUM + "-_"


def drawn(seed: str, alphabet: str, length: int) -> str:
    """So many characters of the alphabet, the same for the same seed."""
    out = b""
    while len(out) < length:
        out += hashlib.sha256(f"{seed}/{alphabet}/{len(out)}".encode()).digest()
    return "".join(alphabet[byte % len(alphabet)] for byte in out[:length])


def _lines(seed: str, many: int) -> str:
    return "\n".join(drawn(f"{seed}{at}", BASE64, 64) for at in range(many)) + "\n" + drawn(seed, BASE64, 22) + "=="


def _pem(kind: str) -> Callable[[str], str]:
    return lambda seed: f"-----BEGIN {kind}-----\n{_lines(seed, 6)}\n-----END {kind}-----"


def _encrypted(seed: str) -> str:
    head = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{drawn(seed, DIGITS + 'ABCDEF', 32)}\n\n"
    return f"-----BEGIN RSA PRIVATE KEY-----\n{head}{_lines(seed, 5)}\n-----END RSA PRIVATE KEY-----"


def _mod97(country: str, account: str) -> str:
    number = int("".join(str(int(char, 36)) for char in account + country + "00"))
    return f"{country}{98 - number % 97:02}{account}"


def _card(seed: str, prefix: str, length: int) -> str:
    body = prefix + drawn(seed, DIGITS, length - len(prefix) - 1)
    total = sum(int(digit) if at % 2 else sum(divmod(2 * int(digit), 10)) for at, digit in enumerate(reversed(body)))
    return body + str(-total % 10)


def _grouped(text: str, mark: str, *sizes: int) -> str:
    out, at = [], 0
    for size in sizes:
        out.append(text[at : at + size])
        at += size
    return mark.join(out)


def _of(prefix: str, alphabet: str, length: int, end: str = "") -> Callable[[str], str]:
    return lambda seed: prefix + drawn(seed + prefix, alphabet, length) + end


# Rule -> (what stands around the value, {} for it; the value). Most stand alone.
SECRETS: dict[str, tuple[tuple[str, Callable[[str], str]], ...]] = {
    "private_key": (
        ("{}", _pem("PRIVATE KEY")),
        ("{}", _pem("RSA PRIVATE KEY")),
        ("{}", _pem("OPENSSH PRIVATE KEY")),
        ("{}", _pem("PGP PRIVATE KEY BLOCK")),
        ("{}", _encrypted),
    ),
    "aws_key": (("{}", _of("AKIA", UPPER + "234567", 16)), ("{}", _of("ASIA", UPPER + "234567", 16))),
    "aws_secret": (
        ("aws_secret_access_key = {}", _of("", BASE64, 40)),
        ('"awsSecretKey": "{}"', _of("", ALNUM, 40)),
        ("AWS_SECRET_ACCESS_KEY={}", _of("", ALNUM, 40)),
    ),
    "github_token": (
        ("{}", _of("gh" + "p_", ALNUM, 36)),
        ("{}", _of("gh" + "s_", ALNUM, 36)),
        ("{}", lambda seed: f"github_pat_{drawn(seed, ALNUM, 22)}_{drawn(seed + 'x', ALNUM, 59)}"),
    ),
    "gitlab_token": (("{}", _of("gl" + "pat-", URL64, 20)), ("{}", _of("gl" + "dt-", URL64, 26))),
    "slack_token": (
        ("{}", lambda seed: "xox" + f"b-{drawn(seed, DIGITS, 12)}-{drawn(seed, ALNUM, 24)}"),
        ("{}", lambda seed: "xapp-1-" + f"{drawn(seed, UPPER, 11)}-{drawn(seed, HEX, 32)}"),
    ),
    "slack_webhook": (
        (
            "{}",
            lambda seed: (
                "https://hooks.slack.com/services/"
                f"T{drawn(seed, UPPER, 8)}/B{drawn(seed, UPPER, 10)}/{drawn(seed, ALNUM, 24)}"
            ),
        ),
    ),
    "discord_webhook": (
        ("{}", lambda seed: f"https://discord.com/api/webhooks/{drawn(seed, '123', 18)}/{drawn(seed, URL64, 68)}"),
    ),
    "stripe_key": (
        ("{}", _of("sk" + "_live_", ALNUM, 24)),
        ("{}", _of("rk" + "_test_", ALNUM, 24)),
        ("{}", _of("wh" + "sec_", ALNUM, 32)),
    ),
    "anthropic_key": (("{}", _of("sk-" + "ant-api03-", URL64, 93)),),
    "openai_key": (
        ("{}", _of("sk-" + "proj-", URL64, 48)),
        ("{}", _of("sk-", ALNUM, 48)),
        ("{}", _of("sk-", HEX, 32)),
        ("{}", _of("sk-" + "eb-", ALNUM, 43)),
    ),
    "google_key": (("{}", _of("AI" + "za", URL64, 35)), ("{}", _of("GOC" + "SPX-", URL64, 28))),
    "google_token": (("{}", _of("ya" + "29.", URL64, 60)),),
    "azure_key": (
        ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};", _of("", BASE64, 86, "==")),
        ("SharedAccessKeyName=root;SharedAccessKey={}", _of("", BASE64, 43, "=")),
    ),
    "azure_sas": (("https://shop.blob.example/c?sv=2024-11-04&sr=c&sp=rl&sig={}", _of("", ALNUM, 43, "%3D")),),
    "jwt": (("{}", lambda seed: f"eyJ{drawn(seed, ALNUM, 33)}.eyJ{drawn(seed, URL64, 70)}.{drawn(seed, ALNUM, 43)}"),),
    "npm_token": (("{}", _of("np" + "m_", ALNUM, 36)),),
    "pypi_token": (("{}", _of("py" + "pi-AgEIcHlwaS5vcmc", URL64, 80)),),
    "sendgrid_key": (("{}", lambda seed: f"SG.{drawn(seed, URL64, 22)}.{drawn(seed, ALNUM, 43)}"),),
    "twilio_key": (("{}", _of("S" + "K", HEX, 32)),),
    "telegram_token": (("{}", lambda seed: f"{drawn(seed, '123456789', 10)}:AA{drawn(seed, URL64, 33)}"),),
    "huggingface_token": (("{}", _of("h" + "f_", UPPER + LOWER, 34)),),
    "digitalocean_token": (("{}", _of("do" + "p_v1_", HEX, 64)),),
    "shopify_token": (("{}", _of("shp" + "at_", HEX, 32)),),
    "databricks_token": (("{}", _of("da" + "pi", HEX, 32)),),
    "vault_token": (("{}", _of("hv" + "s.", URL64, 90)),),
    "docker_token": (("{}", _of("dc" + "kr_pat_", URL64, 27)),),
    "atlassian_token": (("{}", _of("ATA" + "TT3", URL64, 180)),),
    "age_key": (("{}", _of("AGE-SECRET" + "-KEY-1", UPPER + DIGITS, 58)),),
    "database_password": (
        ("postgres://app:{}@db.example:5432/shop", _of("", ALNUM, 16)),
        ("mongodb+srv://app:{}@cluster.example/", lambda seed: f"{drawn(seed, ALNUM, 6)}@!{drawn(seed, ALNUM, 6)}"),
        ("redis://:{}@cache:6379/0", _of("", ALNUM, 20)),
    ),
    "url_password": (
        ("https://robot:{}@git.example/shop.git", _of("", ALNUM, 18)),
        ("ftp://files:{}@ftp.example", lambda seed: f"{drawn(seed, ALNUM, 6)}[INST]{drawn(seed, ALNUM, 4)}"),
    ),
}

PERSONAL: dict[str, tuple[tuple[str, Callable[[str], str]], ...]] = {
    "mail": (
        ("{}", lambda seed: f"{drawn(seed, LOWER, 6)}.{drawn(seed + 'n', LOWER, 7)}@mail.example"),
        ("<{}>", lambda seed: f"{drawn(seed, LOWER, 5)}+shop@{drawn(seed, LOWER, 6)}.co.uk"),
    ),
    "card": (
        ("{}", lambda seed: _card(seed, "4", 16)),
        ("{}", lambda seed: _grouped(_card(seed, "52", 16), " ", 4, 4, 4, 4)),
        ("{}", lambda seed: _grouped(_card(seed, "6011", 16), "-", 4, 4, 4, 4)),
        ("{}", lambda seed: _grouped(_card(seed, "37", 15), " ", 4, 6, 5)),
        ("{}", lambda seed: _grouped(_card(seed, "36", 14), " ", 4, 6, 4)),
    ),
    "iban": (
        ("{}", lambda seed: _mod97("DE", drawn(seed, DIGITS, 18))),
        ("{}", lambda seed: _grouped(_mod97("GB", "NWBK" + drawn(seed, DIGITS, 14)), " ", 4, 4, 4, 4, 4, 2)),
        ("{}", lambda seed: _mod97("NL", "ABNA" + drawn(seed, DIGITS, 10))),
    ),
}

KINDS = {**SECRETS, **PERSONAL}


def planted(rule: str, form: int = 0, seed: str = "") -> tuple[str, str]:
    """(the value, the value in what stands around it)."""
    around, value = KINDS[rule][form]
    made = value(f"{rule}{form}{seed}")
    return made, around.format(made)


FORMS = [(rule, form) for rule, forms in KINDS.items() for form in range(len(forms))]
