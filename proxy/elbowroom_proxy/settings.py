"""What the operator decided, read once at start: elbowroom.yaml, the policy beside it, the secret.

Knows: where the files lie, the shape of elbowroom.yaml (LiteLLM's words), what `os.environ/NAME` means, and how keys
come from the one secret.
Does not know: what a policy or a model means (the engine reads those), or what is built from any of it (`app`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from elbowroom import count
from elbowroom.budget.rights import Written, check_labels
from elbowroom.count.bounded import VOCABULARY as BYTES
from elbowroom.count.counter import Counter
from elbowroom.decide import gates, packers, rules
from elbowroom.decide.reranking import GIVEN
from elbowroom.errors import CountUnavailable, InvalidConfig
from elbowroom.read import yaml
from elbowroom.read.catalog import Catalog, Facts, Local, ModelRow, known_as
from elbowroom.read.policy import Config, Policy
from elbowroom.read.policy import Files as PolicyFiles
from elbowroom.read.policyfile import read_policy
from elbowroom.records import Model
from elbowroom_proxy import (
    addresses,
    asked,
    encoders,
    identity,
    ledgerconfig,
    membership,
    modelfacts,
    modelfiles,
    tracing,
)
from elbowroom_proxy.addresses import CountEndpoint, Endpoint
from elbowroom_proxy.asked import Reranker, Retriever
from elbowroom_proxy.configfiles import Files
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.identity import Identities
from elbowroom_proxy.ledgerconfig import Ledger
from elbowroom_proxy.tracing import Traces

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Positive = Annotated[int, Meta(gt=0)]

STATE = Path(".elbowroom")  # in the working folder: the demo's secret and traces
ENVIRON = "os.environ/"
RERANKERS = frozenset(one.stem for one in (Path(__file__).parent / "rerankers").glob("[a-z]*.py"))
SECRET_LENGTH = 16  # characters at least


class General(Config, frozen=True):
    """`general_settings`. Times in seconds, sizes in bytes."""

    redis_url: str | None = None
    secret: str | None = None
    traces: str = str(STATE / "traces")
    policy: str | None = None
    orgs: str | None = None
    keys: str | None = None
    policies: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each instance
    killed: bool = False
    kill_file: str = str(STATE / "kill")
    max_body_bytes: Positive = 32 << 20
    connect_timeout: Seconds = 5.0
    first_byte_timeout: Seconds = 60.0
    total_timeout: Seconds = 600.0
    max_concurrency: Positive = 256
    max_queue: Annotated[int, Meta(ge=0)] = 256
    drain_timeout: Seconds = 30.0
    ping_interval: Seconds | None = None
    count_timeout: Seconds = 2.0
    count_concurrency: Positive = 8
    ledger: Ledger = Ledger()


class File(identity.Rows, frozen=True):
    """elbowroom.yaml, whole."""

    model_list: tuple[ModelRow, ...] = ()
    reranker: Reranker | None = None
    retriever: Retriever | None = None
    traces: Traces = Traces()
    general_settings: General = General()


class Settings(Struct, frozen=True):
    """Everything that `app` builds from."""

    general: General
    catalog: Catalog
    endpoints: Mapping[str, Endpoint]  # by model name
    counters: Mapping[str, Counter]  # by model name
    policy: Policy
    again: Callable[[Files], Settings]  # reads all this anew
    tokenizers: Mapping[str, Path] = {}  # the operator's own files, by vocabulary
    notes: tuple[str, ...] = ()  # what is counted worse than it could be, and why
    count_endpoints: Mapping[str, CountEndpoint] = {}  # by model name, for models that have one
    reranker: Reranker | None = None
    retriever: Retriever | None = None
    identities: Identities = Identities()
    traces: Traces = Traces()
    directory: Directory = Directory()
    keys_file: Path | None = None  # where the directory's keys stand; None: nowhere that could change
    policies: Mapping[str, Policy] = {}  # beside the default one, by the names that keys, teams and organisations say
    files: Files = msgspec.field(default_factory=Files)  # what all this was read from
    published: Mapping[str, Facts] = {}  # what the table of models says, by model name; without those it does not list

    @property
    def closed(self) -> bool:
        """Whether nobody is let in without a key or a token."""
        return self.directory.closed or self.identities.jwt is not None


class Keys(Struct, frozen=True):
    """One key a purpose, so that none can stand in for another."""

    nonce: bytes
    hash: bytes
    counts: bytes
    cohort: bytes  # places in a rollout, which no other key's end may move
    chain: bytes  # of trace records; what is hashed in them has keys of its own (`tracing`)
    desk: bytes  # of sessions at the review desk


def config_folder() -> Path:
    """The defaults: the wheel's copy of `config/`, or the checkout's own."""
    packaged = Path(__file__).parent / "_config"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "config"


def load(file: Path | None = None, environ: Mapping[str, str] = os.environ, files: Files | None = None) -> Settings:
    """Reads `file`, or the defaults. Raises `InvalidConfig` with file and line. Writes nothing. `files` is told of all
    that was read, in vain too.
    """
    again = partial(load, file, environ)  # with `files`
    files = Files() if files is None else files
    file, marked = _marked(file, files)
    if not marked.value.model_list:
        raise marked.fault("model_list", "names no model, so nothing can be served")
    general = _general(marked, environ)
    local, tokenizers = _local(marked, file.parent)
    catalog, notes = _countable(
        marked, Catalog.of(marked.value.model_list, marked.fault, local=local, published=modelfacts.published)
    )
    resolve = partial(_resolved, marked, environ=environ)
    endpoints = {
        row.model_name: addresses.endpoint(
            f"model_list[{i}]", row, catalog.find(row.model_name).upstream, general, marked.fault, resolve
        )
        for i, row in enumerate(marked.value.model_list)
    }
    policy, policies = _policies(file.parent, general, files)
    for one in (policy, *policies.values()):
        asked.check(one, catalog.by_name, marked.fault)
    counters = {
        row.model_name: _counter(marked, f"model_list[{i}].model_info.counter", catalog.find(row.model_name))
        for i, row in enumerate(marked.value.model_list)
    }
    published = {
        row.model_name: facts
        for row in marked.value.model_list
        if (facts := modelfacts.published(known_as(row))) is not None
    }
    count_endpoints = {
        row.model_name: endpoint
        for i, row in enumerate(marked.value.model_list)
        if (endpoint := addresses.count_endpoint(f"model_list[{i}]", row, marked.fault, resolve)) is not None
    }
    written = Written(policy, policies, frozenset(catalog.by_name))
    kept_in, found = membership.read(file.parent, general.orgs, general.keys, written, files)
    units = (*found.orgs.orgs.values(), *found.orgs.teams.values(), *found.units.values())
    ledgerconfig.check(general.ledger, (unit.account for unit in units), marked.fault)
    identities = _identities(marked, written, file.parent, environ)
    if identities.jwt is not None and not found.orgs.teams:
        raise marked.fault("jwt", "a token names its organisation and team, and there are none: write orgs.yaml")
    return Settings(
        general=general,
        catalog=catalog,
        endpoints=endpoints,
        counters=counters,
        policy=policy,
        tokenizers=tokenizers,
        notes=notes,
        count_endpoints=count_endpoints,
        policies=policies,
        files=files,
        again=again,
        reranker=asked.reranker(marked.value.reranker, (policy, *policies.values()), marked.fault, resolve),
        retriever=asked.retriever(marked.value.retriever, (policy, *policies.values()), marked.fault, resolve),
        published=published,
        identities=identities,
        traces=tracing.checked(marked.value.traces, marked.fault),
        directory=found,
        keys_file=kept_in,
    )


def who(file: Path | None = None) -> tuple[Path, Directory]:
    """Where keys are kept, and who may ask, of a configuration whose environment need not be at hand. Raises
    `InvalidConfig` with file and line.
    """
    files = Files()
    file, marked = _marked(file, files)
    general = marked.value.general_settings
    policy, policies = _policies(file.parent, general, files)
    written = Written(policy, policies, frozenset(row.model_name for row in marked.value.model_list))
    return membership.read(file.parent, general.orgs, general.keys, written, files)


def keys_file(file: Path | None = None) -> Path:
    """Where keys are kept, whatever else of the configuration does not hold. Raises `InvalidConfig`."""
    file, marked = _marked(file, Files())
    return membership.keys_file(file.parent, marked.value.general_settings.keys)


def _marked(file: Path | None, files: Files) -> tuple[Path, yaml.Marked[File]]:
    file = file or config_folder() / "elbowroom.yaml"
    return file, yaml.read(files.text(file), str(file), File)


def _policies(folder: Path, general: General, files: Files) -> tuple[Policy, dict[str, Policy]]:
    """The default one, and those that have names."""
    policy = load_policy(folder / general.policy if general.policy else config_folder() / "policy.yaml", files)
    return policy, {name: load_policy(folder / one, files) for name, one in general.policies.items()}


def load_policy(file: Path, files: Files | None = None) -> Policy:
    """A policy file, with the `classes/` and `sources.yaml` beside it, else the defaults'. Raises `InvalidConfig` with
    file and line.
    """
    files = Files() if files is None else files
    classes = files.listed(files.first(file.parent / "classes", config_folder() / "classes"), "*.yaml")
    sources = files.first(file.parent / "sources.yaml", config_folder() / "sources.yaml")
    return read_policy(
        (str(file), files.text(file)),
        [(str(one), files.text(one)) for one in classes],
        known_gates=gates.NAMES,
        known_packers=packers.NAMES,
        known_rules=rules.NAMES,
        known_rerankers=RERANKERS | {GIVEN},
        sources=(str(sources), files.text(sources)),
    )


def kept_policy(files: Mapping[str, Any]) -> Policy:
    """A policy as it was kept beside the records: `{"policy": [name, text], "classes": [...], "sources": ...}`. Raises
    `InvalidConfig` where this version does not take it.
    """
    told = msgspec.convert(files, PolicyFiles)
    return read_policy(
        told.policy,
        told.classes,
        known_gates=gates.NAMES,
        known_packers=packers.NAMES,
        known_rules=rules.NAMES,
        known_rerankers=RERANKERS | {GIVEN},
        sources=told.sources,
    )


def keys(general: General) -> Keys:
    """From the configured secret; else from one that is made on the first start and kept beside the traces."""
    secret = general.secret or _kept_secret(STATE / "secret")

    def key(purpose: str) -> bytes:
        return hmac.digest(secret.encode(), f"elbowroom/1/{purpose}".encode(), hashlib.sha256)

    return Keys(
        nonce=key("nonce"), hash=key("hash"), counts=key("counts"), cohort=key("cohort"), chain=key("chain"),
        desk=key("desk"),
    )  # fmt: skip


def _kept_secret(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        # Only its owner may read it, from the moment it is there.
        new = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(new, secrets.token_hex(32).encode())
        os.close(new)
    kept = file.read_text().strip()
    if len(kept) < SECRET_LENGTH:
        raise InvalidConfig(f"{file}:1: the kept secret is damaged; delete the file to get a new one")
    return kept


def _general(marked: yaml.Marked[File], environ: Mapping[str, str]) -> General:
    """The environment's words put in, the rules that no type can say checked."""
    at = "general_settings"
    written = marked.value.general_settings
    redis_url = _resolved(marked, f"{at}.redis_url", written.redis_url, environ) or environ.get("REDIS_URL") or None
    secret = _resolved(marked, f"{at}.secret", written.secret, environ) or environ.get("ELBOWROOM_SECRET") or None
    if redis_url is not None and not redis_url.startswith(("redis://", "rediss://", "unix://")):
        raise marked.fault(f"{at}.redis_url", "must begin with redis://, rediss:// or unix://")
    if secret is not None and len(secret) < SECRET_LENGTH:
        raise marked.fault(f"{at}.secret", f"must have at least {SECRET_LENGTH} characters")
    if redis_url is not None and secret is None:
        raise marked.fault(
            f"{at}.secret", "instances that share a Redis need the same secret: set it here or in ELBOWROOM_SECRET"
        )
    ledger = ledgerconfig.read(written.ledger, marked.fault, partial(_resolved, marked, environ=environ))
    return structs.replace(written, redis_url=redis_url, secret=secret, ledger=ledger)


def _identities(marked: yaml.Marked[File], written: Written, folder: Path, environ: Mapping[str, str]) -> Identities:
    """Who may ask; and every label that a model or a reranker accepts is the policy's."""
    value = marked.value
    accepts = {f"model_list[{i}].model_info": row.model_info.accepts for i, row in enumerate(value.model_list)}
    accepts["reranker"] = value.reranker.accepts if value.reranker is not None else None
    for path, labels in accepts.items():
        check_labels(f"{path}.accepts", labels, written.policy, marked.fault)
    resolve = partial(_resolved, marked, environ=environ)
    return identity.read(value, written, folder, marked.fault, lambda path, word: resolve(path, word) or "")


def _local(marked: yaml.Marked[File], folder: Path) -> tuple[dict[str, Local], dict[str, Path]]:
    """The files of self-hosted models: what they hold by model name, where they are by vocabulary."""
    local: dict[str, Local] = {}
    tokenizers: dict[str, Path] = {}
    today = dt.datetime.now(tz=dt.UTC).date()
    for i, row in enumerate(marked.value.model_list):
        if row.model_info.tokenizer is None:
            continue
        try:
            held = local[row.model_name] = modelfiles.read(row.model_info, folder, today)
        except modelfiles.Unreadable as error:
            raise marked.fault(f"model_list[{i}].model_info.tokenizer", str(error)) from error
        tokenizers[held.vocabulary] = folder / row.model_info.tokenizer
    return local, tokenizers


def _countable(marked: yaml.Marked[File], catalog: Catalog) -> tuple[Catalog, tuple[str, ...]]:
    """The catalog with models whose tokenizer is not installed bounded by bytes, and a sentence for each.

    Raises for a model whose configuration asks for that tokenizer by name.
    """
    by_name, notes = dict(catalog.by_name), []
    for i, row in enumerate(marked.value.model_list):
        model = by_name[row.model_name]
        fault = encoders.missing(model.vocabulary)
        if fault is None:
            continue
        info = row.model_info
        if info.tokenizer or info.vocabulary or info.counter:
            raise marked.fault(f"model_list[{i}].model_info", fault)
        by_name[row.model_name] = structs.replace(model, counter="bounded", vocabulary=BYTES)
        notes.append(f"{row.model_name} is counted by its bytes; {fault}")
    return Catalog(by_name), tuple(notes)


def _counter(marked: yaml.Marked[File], at: str, model: Model) -> Counter:
    try:
        return count.build(model)
    except CountUnavailable as error:
        raise marked.fault(at, error.message) from error


def _resolved(marked: yaml.Marked[File], path: str, word: str | None, environ: Mapping[str, str]) -> str | None:
    """`os.environ/NAME` is what NAME holds; anything else is itself."""
    if word is None or not word.startswith(ENVIRON):
        return word
    name = word.removeprefix(ENVIRON)
    if not environ.get(name):
        raise marked.fault(path, f"the environment has no {name}")
    return environ[name]
