"""`elbowroom check`: reads a configuration as `serve` would, and says what it means.

Knows: how to name what was read, in lines.
Does not know: what is valid; the code that serves says so, with file and line.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from elbowroom_proxy import settings
from elbowroom_proxy.cli import who
from elbowroom_proxy.cli.explain import explained
from elbowroom_proxy.cli.render import line
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.vocabularies import FILES, Vocabularies


def arguments(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--explain", action="store_true", help="say the policy in words")
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="elbowroom.yaml; without it the built-in one"
    )


def run(args: Namespace) -> int:
    """0: valid. 1: a limit that nothing fits into, or a vocabulary that is not as published. Any other fault in a file
    is an `InvalidConfig`.
    """
    file = args.file or settings.config_folder() / "elbowroom.yaml"
    read = settings.load(file)
    print(line("config", str(file)), *told(read), sep="\n")
    if args.explain:
        print("", *explained(read.policy), "", sep="\n")
    too_small = list(who.small(read, file))
    for fault in too_small:
        print(fault, file=sys.stderr)
    if too_small:
        return 1
    vocabularies = Vocabularies(files=read.tokenizers)
    faults = vocabularies.verify()
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        return 1
    print(line("counting", f"{', '.join(sorted(FILES))}: as published"), "All of it holds.", sep="\n")
    return 0


def told(read: Settings) -> Iterator[str]:
    """What a configuration says, in lines."""
    for model in read.catalog.models:
        basis = f"{model.counter}, {model.family}, {model.vocabulary}" if model.known else "unmapped: an upper bound"
        endpoint = read.endpoints[model.name]
        at = f"{endpoint.upstream} {endpoint.api_base or ''}".strip()
        yield line("model", f"{model.name}: {model.context_window:,} tokens; {at}; counted by {basis}")
    for note in read.notes:
        yield line("note", note)
    policy = read.policy
    yield line("policy", f"{policy.id} {policy.version}: {policy.mode}, packer {policy.packer}; {policy.digest}")
    for one in sorted(policy.classes, key=lambda one: (one.priority, one.name)):
        default = ", the default" if one.name == policy.default_class else ""
        yield line("class", f"{one.name}: {one.answer_reserve:,} tokens for the answer{default}")
    identities, general = read.identities, read.general
    if read.closed:
        issuer = f"; tokens of {identities.jwt.issuer}" if identities.jwt is not None else ""
        said = f"{len(read.directory.rows)} keys{issuer}; {len(identities.label_keys)} keys that sign labels"
        yield line("access", said)
    else:
        yield line("access", "open: everybody may ask for everything")
    yield from who.told(read)
    for note in who.unpriced(read):
        yield line("note", note)
    yield line("counts", "shared in Redis" if general.redis_url else "kept in memory")
    yield line("secret", "given" if general.secret else f"made and kept in {settings.STATE}")
    yield line("traces", general.traces)
