"""The policy out of its files: `policy.yaml` and one file a class, checked against each other.

Knows: which numbers and names cannot be together, and in which file and line the mistake stands.
Does not know: where the files lie; names and texts come in. Which gates and packers exist is told, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import structs

from elbowroom.read import yaml
from elbowroom.read.classify import compiled
from elbowroom.read.policy import ASSUME, Files, Policy, QueryClass
from elbowroom.read.resultschema import NoSchema, fault_of
from elbowroom.read.sources import read_sources

_BESIDE = {
    "classes": "each class has a file of its own in classes/",
    "sources": "sources have a file of their own, sources.yaml",
    "digest": "it is worked out",
    "files": "they are what was read",
}
# `(a+)+` and its like: whether a text matches can take longer than anybody waits.
_NESTED_REPEAT = re.compile(r"\((?:[^()\\]|\\.)*(?<!\\)[*+}](?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\})")


def read_policy(
    policy: tuple[str, str],
    classes: Sequence[tuple[str, str]],
    *,
    known_gates: Collection[str],
    known_packers: Collection[str],
    known_rules: Collection[str],
    known_rerankers: Collection[str],
    sources: tuple[str, str] | None = None,
) -> Policy:
    """The policy, whole, from (file name, text) pairs. Its digest is of the texts alone, so folders do not matter.

    Raises `InvalidConfig`, the message beginning with `file:line:`.
    """
    file, text = policy
    marked = yaml.read(text, file, Policy)
    for name, beside in _BESIDE.items():
        if name in marked.lines:
            raise marked.fault(name, f"there is no such key; {beside}")
    found = [yaml.read(text, file, QueryClass) for file, text in classes]
    found.sort(key=lambda one: (one.value.priority, one.value.name))
    value = marked.value
    if found:
        value = structs.replace(value, classes=tuple(one.value for one in found))
    _check_names(marked, value, known_gates, known_packers)
    if value.rerank.by not in known_rerankers:
        there = _listed(known_rerankers)
        raise marked.fault("rerank.by", f"there is no reranker {value.rerank.by}; there are {there}")
    _check_numbers(marked, value)
    _check_access(marked, value)
    _check_tools(marked, value)
    _check_cues(marked, "follow_up.cues", value.follow_up.cues)
    _check_cues(marked, "follow_up.not_cues", value.follow_up.not_cues)
    seen: set[str] = set()
    for one in found:
        _check_class(one, value)
        if one.value.rule is not None and one.value.rule not in known_rules:
            raise one.fault("rule", f"there is no rule {one.value.rule}; there are {_listed(known_rules)}")
        if one.value.name in seen:
            raise one.fault("name", f"there is another class {one.value.name}")
        seen.add(one.value.name)
    if sources is not None:
        value = structs.replace(value, sources=read_sources(*sources))
    others = [*classes, sources] if sources is not None else classes
    digest = _digest([text, *sorted(text for _, text in others)])
    kept = Files(_named(policy), tuple(map(_named, classes)), _named(sources) if sources is not None else None)
    return structs.replace(value, digest=digest, files=kept)


def _named(file: tuple[str, str]) -> tuple[str, str]:
    name, text = file
    return re.split(r"[/\\]", name)[-1], text


def _check_names(
    marked: yaml.Marked[Policy], policy: Policy, known_gates: Collection[str], known_packers: Collection[str]
) -> None:
    for i, gate in enumerate(policy.gates):
        if gate not in known_gates:
            raise marked.fault(f"gates[{i}]", f"there is no gate {gate}; there are {_listed(known_gates)}")
        if gate in policy.gates[:i]:
            raise marked.fault(f"gates[{i}]", f"{gate} is given twice")
    if policy.packer not in known_packers:
        raise marked.fault("packer", f"there is no packer {policy.packer}; there are {_listed(known_packers)}")
    if not policy.has_class(policy.default_class):
        names = _listed(one.name for one in policy.classes)
        raise marked.fault("default_class", f"there is no class {policy.default_class}; there are {names}")


def _check_numbers(marked: yaml.Marked[Policy], policy: Policy) -> None:
    if policy.answer.min_output_tokens + policy.safety_margin >= policy.input_limit:
        raise marked.fault("input_limit", "must be more than answer.min_output_tokens and safety_margin together")
    if policy.answer.output_cap is not None and policy.answer.output_cap < policy.answer.min_output_tokens:
        raise marked.fault("answer.output_cap", "must not be less than answer.min_output_tokens")
    if policy.evidence.min_excerpt_tokens > policy.evidence.max_passage_tokens:
        raise marked.fault("evidence.min_excerpt_tokens", "must not be more than evidence.max_passage_tokens")


def _check_access(marked: yaml.Marked[Policy], policy: Policy) -> None:
    access = policy.access
    if len(set(access.labels)) < len(access.labels):
        raise marked.fault("access.labels", "a label is given twice")
    named = {f"access.inside[{i}]": label for i, label in enumerate(access.inside) if "access.inside" in marked.lines}
    if access.egress_up_to is not None:
        named["access.egress_up_to"] = access.egress_up_to
    for kind, rule in access.on_missing_label.items():
        if rule.startswith(ASSUME):
            named[f"access.on_missing_label.{kind}"] = rule.removeprefix(ASSUME)
    for name, tool in policy.tools.items():
        if tool.access is not None:
            named[f"tools.{name}.access.label"] = tool.access.label
            if tool.returns != "documents":
                raise marked.fault(f"tools.{name}.access", "is of documents; the tool needs `returns: documents`")
    for path, label in named.items():
        if label not in access.labels:
            raise marked.fault(path, f"there is no label {label}; there are {', '.join(access.labels)}")


def _check_tools(marked: yaml.Marked[Policy], policy: Policy) -> None:
    for name, tool in policy.tools.items():
        try:
            fault_of(None, tool.response_schema or {})
        except NoSchema as error:
            raise marked.fault(f"tools.{name}.response_schema", f"no JSON schema: {error}") from None
        for i, path in enumerate(tool.redact):
            if not all(path.split(".")):
                raise marked.fault(f"tools.{name}.redact[{i}]", "must be names joined by dots, such as customer.mail")
        if tool.returns == "documents" and (tool.response_schema or tool.redact or tool.redact_packs):
            raise marked.fault(
                f"tools.{name}.returns", "documents have neither response_schema nor redact, of either kind"
            )


def _check_class(marked: yaml.Marked[QueryClass], policy: Policy) -> None:
    one = marked.value
    if one.answer_reserve + policy.safety_margin >= policy.input_limit:
        raise marked.fault("answer_reserve", "with the policy's safety_margin it must be less than its input_limit")
    least = one.evidence.min_excerpt_tokens or policy.evidence.min_excerpt_tokens
    if least > (one.evidence.max_passage_tokens or policy.evidence.max_passage_tokens):
        raise marked.fault("evidence", "min_excerpt_tokens must not be more than max_passage_tokens")
    most = one.evidence.max_passages or policy.evidence.max_passages
    if max(one.minimum.passages, one.minimum.sources) > most:
        raise marked.fault("minimum", f"must not be more than the {most} passages that may be admitted")
    _check_cues(marked, "cues", one.cues)
    _check_cues(marked, "not_cues", one.not_cues)


def _check_cues(
    marked: yaml.Marked[Policy] | yaml.Marked[QueryClass], path: str, cues: Mapping[str, Sequence[str]]
) -> None:
    for language, some in cues.items():
        for i, cue in enumerate(some):
            at = f"{path}.{language}[{i}]"
            try:
                pattern = compiled(cue)
            except re.error as error:
                raise marked.fault(at, f"not a regular expression: {error}") from None
            if pattern.search("") is not None:
                raise marked.fault(at, "matches everything, even no text at all")
            if _NESTED_REPEAT.search(cue):
                raise marked.fault(at, "a repeat inside a repeat can take forever")


def _digest(texts: Iterable[str]) -> str:
    """SHA-256 of the texts, each with its length before it, in hex."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode(errors="surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
