"""A self-hosted model's own files: tokenizer.json, and the chat template in one of the two places it is kept.

Knows: which files lie beside each other in a model's folder and what of them a template is given.
Does not know: how a template is rendered or a text encoded; nothing is fetched from anywhere.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any

from elbowroom.read.catalog import Local, ModelInfo
from elbowroom.records import ChatTemplate

BESIDE = ("chat_template.jinja", "tokenizer_config.json")


class Unreadable(Exception):
    """A file that cannot be used; the message names it."""


def vocabulary(tokenizer: Path) -> str:
    """The name of what is in that file."""
    return f"tokenizer:{hashlib.sha256(_bytes(tokenizer)).hexdigest()[:8]}"


def read(info: ModelInfo, folder: Path, today: dt.date) -> Local:
    """What `info` names, relative to `folder`. Raises `Unreadable`."""
    tokenizer = folder / (info.tokenizer or "")
    beside = [tokenizer.parent / name for name in BESIDE]
    template = folder / info.chat_template if info.chat_template else next(filter(Path.is_file, beside), beside[0])
    config = _config(template if template.suffix == ".json" else beside[1])
    source = _from_config(config, template) if template.suffix == ".json" else _text(template)
    given = ChatTemplate(source, _tokens(config), info.chat_template_kwargs, today.isoformat())
    return Local(vocabulary(tokenizer), given)


def _config(file: Path) -> dict[str, Any]:
    """tokenizer_config.json, where there is one."""
    if not file.is_file():
        return {}
    try:
        config = json.loads(_bytes(file))
    except ValueError as error:
        raise Unreadable(f"{file}: {error}") from None
    return config if isinstance(config, dict) else {}


def _from_config(config: dict[str, Any], file: Path) -> str:
    """The template; of several the one that is called default."""
    template = config.get("chat_template")
    if isinstance(template, list):
        template = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}.get("default")
    if not isinstance(template, str):
        raise Unreadable(f"{file}: there is no chat_template in it")
    return template


def _tokens(config: dict[str, Any]) -> dict[str, str]:
    """`bos_token` and its like, which are texts or objects that hold one."""
    named = {key: value for key, value in config.items() if key.endswith("_token")}
    texts = {key: value.get("content") if isinstance(value, dict) else value for key, value in named.items()}
    return {key: text for key, text in texts.items() if isinstance(text, str)}


def _text(file: Path) -> str:
    try:
        return _bytes(file).decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable(f"{file}: not UTF-8 text") from None


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise Unreadable(f"{file}: {error.strerror or 'cannot be read'}") from None
