"""What redaction takes by mistake, what it misses, and what it costs: `python -m bench.redaction.measure`.

Knows: texts of our own without any secret (these files, the documentation, the code of this repository), and kinds of
secrets made on the spot (`tests.planted`), put into prose, code, tables and JSON.
Does not know: anybody's real texts or secrets; the share that is missed there is another.
"""

from __future__ import annotations

import json
import re
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from elbowroom.clean.find import PACKS, find
from elbowroom.clean.found import Found
from elbowroom.clean.sanitise import sanitise
from tests.planted import BASE64, DIGITS, FORMS, HEX, PERSONAL, drawn, planted

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SEEDS = 20
RUNS = 15
SENTENCE = "Refunds are paid within fourteen days of the return, and parcels leave on Mondays and Thursdays. "

SIGNS = {ord(sign): f"\\u{ord(sign):04X}" for sign in "+&<>'"}  # as .NET writes them, and Go most of them

AROUND: dict[str, Callable[[str], str]] = {
    "prose": lambda text: f"For the test system use {text}, but not after March.",
    "Chinese prose": lambda text: f"测试环境请用{text}，三月以后作废。",
    "code": lambda text: f'client = Client(key="{text}", timeout=5)  # for now\n',
    "environment file": lambda text: f"# shop\nSHOP_KEY={text}\nDEBUG=0\n",
    "Markdown table": lambda text: f"| system | key |\n|---|---|\n| test | {text} |\n",
    "CSV": lambda text: f'test,"{text}",2026-03-01\n',
    "JSON": lambda text: json.dumps({"rows": [{"system": "test", "key": text}]}, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps({"log": json.dumps({"key": text})}),
    "JSON in ASCII, Chinese beside it": lambda text: json.dumps({"说明": f"测试环境请用，{text}，三月以后作废。"}),
    "JSON, its signs escaped": lambda text: json.dumps({"key": text}).translate(SIGNS),
    "JSON, a line of many": lambda text: json.dumps({"log": f"ready\n{text}\nstarted"}),
    "JSON, its slashes escaped": lambda text: json.dumps({"key": text}).replace("/", "\\/"),
    "a zero-width character in it": lambda text: f"Use {text[: len(text) // 2]}\u200b{text[len(text) // 2 :]} here.",
    "a line end in it": lambda text: f"Use {text[: len(text) // 2]}\n{text[len(text) // 2 :]} here.",
    "base64 of it": lambda text: b64encode(text.encode()).decode(),
    "full-width letters": lambda text: f"用 {''.join(map(wide, text))} 。",
}


def wide(char: str) -> str:
    return chr(ord(char) + 0xFEE0) if char.isalnum() and char.isascii() else char


def clean_texts() -> dict[str, list[str]]:
    """Texts without secrets, by what they are; whole files."""
    own = {name: [(HERE / file).read_text("utf-8")] for name, file in
           (("prose with look-alikes", "prose.md"), ("code with look-alikes", "code.txt"),
            ("tables and logs with look-alikes", "tables.txt"))}  # fmt: skip

    def lines(prefix: str, alphabet: str, length: int) -> str:
        return "\n".join(prefix + drawn(f"{prefix}{at}", alphabet, length) for at in range(1_000))

    made = {
        "1,000 hex digests": [lines("", HEX, 64)],
        "1,000 lines of base64": [lines("", BASE64, 76)],
        "1,000 numbers of 16 digits that begin with 4": [lines("4", DIGITS, 15)],
    }
    docs = [path.read_text("utf-8") for path in sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")])]
    code = [
        path.read_text("utf-8")
        for folder in ("src", "proxy", "bench")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    return {**own, **made, "this repository's documentation": docs, "this repository's code": code}


def mistakes() -> Iterator[str]:
    yield "| texts without secrets | characters | taken by `secrets` | taken by `pii` |"
    yield "|---|---|---|---|"
    for name, texts in clean_texts().items():
        taken = {pack: [(text[a:b], rule) for text in texts for a, b, rule in find(text, (pack,))] for pack in PACKS}
        cells = [f"{len(some)}{_listed(some)}" for some in taken.values()]
        yield f"| {name} | {sum(map(len, texts)):,} | {' | '.join(cells)} |"


def _listed(taken: list[tuple[str, str]]) -> str:
    counted = Counter(rule for _, rule in taken)
    return f" ({', '.join(f'{rule} {n}' for rule, n in sorted(counted.items()))})" if counted else ""


def misses() -> tuple[list[str], int]:
    """The table, and how many were missed in the plainest surroundings."""
    lines = ["| planted in | secrets | missed | personal data | missed |", "|---|---|---|---|---|"]
    plain = 0
    for name, around in AROUND.items():
        numbers = {"secrets": [0, 0, Counter[str]()], "pii": [0, 0, Counter[str]()]}
        for rule, form in FORMS:
            pack = "pii" if rule in PERSONAL else "secrets"
            for seed in range(SEEDS):
                value, text = planted(rule, form, str(seed))
                whole = sanitise(around(text)).text
                left = whole
                found = find(whole, tuple(PACKS))
                for start, end, _ in reversed(found):
                    left = left[:start] + left[end:]
                told = re.sub(r"\\+n", "\n", left)
                missed = not found or any(len(line) > 9 and (line in told or "".join(map(wide, line)) in told)
                             for line in value.split("\n"))  # fmt: skip
                numbers[pack][0] += 1
                numbers[pack][1] += missed
                numbers[pack][2][rule] += missed
        for pack in numbers.values():
            plain += pack[1] if name in ("prose", "code") else 0
        cells = []
        for tried, missed, by in numbers.values():
            some = [f"{rule} {n}" for rule, n in sorted(by.items()) if n]
            which = ", ".join(some) if len(some) < 4 else ""
            cells.append(f"{tried} | {missed}{f' ({which})' if which else ''}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines, plain


def costs() -> Iterator[str]:
    """Least of several runs, ms of processor time, for 30 passages of 2,000 characters; no two runs have the same."""
    kinds: dict[str, Callable[[str], str]] = {
        "English": lambda name: f"{name} {SENTENCE * 20}",
        "Chinese": lambda name: f"{name} {'退款多久到账？包裹每周一发出，年度方案另算。' * 100}",
        "English, a secret in each": lambda name: f"{planted('aws_key', 0, name)[0]} {SENTENCE * 20}",
        "base64": lambda name: drawn(name, BASE64, 2_000),
    }
    yield "| 30 passages of 2,000 characters, ms | new, `secrets` | new, both packs | known |"
    yield "|---|---|---|---|"
    for name, kind in kinds.items():
        runs = [[kind(f"{run}/{n}")[:2_000] for n in range(30)] for run in range(RUNS)]
        cells = [
            _least(lambda texts, packs=packs: [find(text, packs) for text in texts], runs)
            for packs in (("secrets",), tuple(PACKS))
        ]
        found = Found(1 << 24)
        for text in chain.from_iterable(runs):
            found.put(("secrets",), text, find(text, ("secrets",)))
        cells.append(_least(lambda texts, found=found: [found.get(("secrets",), text) for text in texts], runs))
        yield f"| {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


def _least(work: Callable[[list[str]], object], runs: list[list[str]]) -> float:
    took = []
    for texts in runs:
        start = time.process_time()
        work(texts)
        took.append(1000 * (time.process_time() - start))
    return min(took)


def main() -> int:
    print(*mistakes(), "", sep="\n")
    lines, plain = misses()
    print(*lines, "", sep="\n")
    print(*costs(), sep="\n")
    return 1 if plain else 0


if __name__ == "__main__":
    sys.exit(main())
