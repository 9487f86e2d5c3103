r"""What must not leave in a text: keys, tokens and passwords that are known by their form. Data, one row a rule.

Knows: the prefixes by which those who give out keys mark them, and the names that stand before those which have none.
Does not know: how rows are looked for (`find`), or what is put in their place. No row goes by how random a text looks:
what is redacted can be named.

A row is an expression of RE2: no look-around, no back-reference, and time that grows with the text alone. `group` is
what is taken out, where that is less than the match. In JSON a quote may be written `\"`; a line end's `\n` is here
a backslash and `\x01`. In JSON inside a string of JSON there are more backslashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    name: str  # as the placeholder has it
    pattern: str
    group: int = 0
    check: Callable[[str], int] | None = None  # how many characters of what was found are it, from the first; 0: none


_SLASHES = r":(?:\\*/){2}"
_USER = r"""[^\s:/?#@"'<>\\]{0,64}"""
# Up to the last @ before a space, a slash or a quote: the one in a password may not have been escaped.
_WORD = r"""((?:[^\s/"'`<>\\]|\\[^\s/]){1,200})@[\w.\[%-]"""
_DASH = "[_ .-]?"
_QUOTE = r"""(?:\\*["'])?"""
_DATABASES = "postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb|neo4j"
_KEY = r"PRIVATE KEY(?: BLOCK)?-----"
# No plus is the first of what is between lines: it may be base64's own, and to try both ways at each of them is slow.
_SIGN = r"""\s|\\+["\x01]|["'>|,]"""
_BETWEEN = rf"(?:{_SIGN})(?:{_SIGN}|\+)*"
_LINE = "[A-Za-z0-9+/=]{16,}"
_END = rf"-----END (?:[A-Z0-9]+ ){{0,3}}{_KEY}"
_HEADERS = rf"(?:{_BETWEEN}[A-Z][A-Za-z-]{{3,20}}: ?[A-Za-z0-9,. ()/-]{{1,80}})*"

# The name of JSON's next member behind a key, or the end of the key's own.
_MEMBER = re.compile(r"""\\*"(?:[\s\x01\\]*,[\s\x01\\]*"[A-Za-z0-9+/=]+\\*")?\s*:\Z""")
_LOOKED_AT = 300  # characters, from the end

# What stands for a password in instructions.
_STAND_INS = frozenset({"password", "passwd", "pass", "pwd", "secret", "token", "pw", "changeme", "your_password"})


def _real(password: str) -> int:
    """0 for a variable, a word that says where a password goes, and what was redacted already."""
    bare = password.strip("*.x-_")
    if not bare or bare.lower() in _STAND_INS or bare.startswith(("$", "{", "%(", "[REDACTED:")):
        return 0
    return len(password)


def _lines(key: str) -> int:
    """Without the name of JSON's next member, which looks like one more line of a key that was cut off."""
    name = _MEMBER.search(key, max(0, len(key) - _LOOKED_AT))
    return len(key) if name is None else name.start()


SECRETS: tuple[Rule, ...] = (
    Rule(
        "private_key",  # whole, or without its end: a document may have been cut there
        rf"-----BEGIN (?:[A-Z0-9]+ ){{0,3}}{_KEY}{_HEADERS}(?:{_BETWEEN})?{_LINE}(?:{_BETWEEN}{_LINE})*"
        rf"(?:(?:{_BETWEEN}[A-Za-z0-9+/=]{{1,80}}){{0,3}}(?:{_BETWEEN})?{_END}|{_BETWEEN}[A-Za-z0-9+/=]{{1,15}}\z"
        r"""|\\*"\s{0,4}:)?""",
        check=_lines,
    ),
    Rule(
        "private_key",
        rf"(?:\A[A-Za-z0-9+/=]{{1,15}}{_BETWEEN})?(?:{_LINE}{_BETWEEN})+"
        rf"(?:[A-Za-z0-9+/=]{{1,80}}{_BETWEEN}){{0,3}}(?:[A-Za-z0-9+/=]{{1,80}})?{_END}",
    ),  # without its beginning
    Rule("aws_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    Rule(
        "aws_secret",
        rf"(?i:aws{_DASH}(?:secret{_DASH})?(?:access{_DASH})?key|secret{_DASH}access{_DASH}key){_QUOTE}"
        rf"(?:\s{{0,4}}(?:=>|[:=>|,]|：)\s{{0,4}}|\s{{1,4}}){_QUOTE}([A-Za-z0-9/+]{{40}})(?:\b|[^A-Za-z0-9/+=]|\z)",
        1,
    ),
    Rule("github_token", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    Rule("gitlab_token", r"\bgl(?:pat|dt|ptt|rt|cbt|ft|soat|imt|agent)-[\w-]{20,}"),
    Rule("slack_token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"),
    Rule(
        "slack_webhook", rf"https{_SLASHES}hooks\.slack\.com\\*/(?:services|workflows|triggers)(?:\\*/\w{{6,}}){{2,5}}"
    ),
    Rule("discord_webhook", rf"https{_SLASHES}discord(?:app)?\.com\\*/api\\*/webhooks\\*/\d{{17,20}}\\*/[\w-]{{60,}}"),
    Rule("stripe_key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}"),
    Rule("anthropic_key", r"\bsk-ant-[\w-]{20,}"),
    Rule("openai_key", r"\bsk-(?:(?:proj|svcacct|admin|or|lf|eb)-[\w-]{20,}|[A-Za-z0-9]{32,})"),
    Rule("google_key", r"\bAIza[\w-]{35}|\bGOCSPX-[\w-]{28}"),
    Rule("google_token", r"\bya29\.[\w-]{20,}"),
    Rule("azure_key", r"(?i:Account|SharedAccess)Key=([A-Za-z0-9+/]{43,88}={1,2})", 1),
    Rule("azure_sas", r"[?&;](?:sv|se|sp|sr)=[^\s\"'<>\\]{1,300}?&sig=([A-Za-z0-9%+/]{40,}(?:%3[Dd]|=)?)", 1),
    Rule("jwt", r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}"),
    Rule("npm_token", r"npm_[A-Za-z0-9]{36}"),
    Rule("pypi_token", r"pypi-AgE[\w-]{50,}"),
    Rule("sendgrid_key", r"\bSG\.[\w-]{16,32}\.[\w-]{32,64}"),
    Rule("twilio_key", r"\bSK[0-9a-f]{32}\b"),
    Rule("telegram_token", r"\b\d{8,10}:AA[\w-]{33}"),
    Rule("huggingface_token", r"\bhf_[A-Za-z]{34}\b"),
    Rule("digitalocean_token", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    Rule("shopify_token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    Rule("databricks_token", r"\bdapi[a-f0-9]{32}\b"),
    Rule("vault_token", r"\bhv[sb]\.[\w-]{24,}"),
    Rule("docker_token", r"\bdckr_(?:pat|oat)_[\w-]{27,}"),
    Rule("atlassian_token", r"\bATATT3[\w=-]{100,}"),
    Rule("age_key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Rule("database_password", rf"\b(?:{_DATABASES})(?:\+\w{{1,12}})?{_SLASHES}{_USER}:{_WORD}", 1, _real),
    Rule("url_password", rf"\b(?:https?|s?ftp|ssh|ldaps?|smtps?|imaps?|wss?){_SLASHES}{_USER}:{_WORD}", 1, _real),
)
