"""Every adapter has its port's calls with the port's own parameters: a type checker's promise, held at run time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

from elbowroom_proxy import ports, sinks, stores, upstreams
from elbowroom_proxy.ports import CountCache, Ledger, Reply, TraceSink, Upstream

FOLDERS = {stores: (CountCache, Ledger), upstreams: (Upstream, Reply), sinks: (TraceSink,)}


def adapters() -> list[tuple[type, type]]:
    found: list[tuple[type, type]] = []
    for folder, offered in FOLDERS.items():
        for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            for kind in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(kind) and kind.__module__ == module.name:
                    found += [(port, kind) for port in offered if calls(port) <= set(dir(kind))]
    return found


def calls(port: type) -> set[str]:
    return {name for name, member in vars(port).items() if inspect.isfunction(member) and not name.startswith("_")}


@pytest.mark.parametrize(("port", "adapter"), adapters(), ids=lambda kind: kind.__name__)
def test_an_adapter_takes_what_its_port_says(port: type, adapter: type) -> None:
    for name in calls(port):
        said, done = (list(inspect.signature(getattr(kind, name)).parameters) for kind in (port, adapter))
        assert said == done, f"{adapter.__name__}.{name}"


def test_each_port_has_an_adapter() -> None:
    served = {port for port, _ in adapters()}
    assert served == {port for offered in FOLDERS.values() for port in offered}


def test_a_call_cannot_be_changed_on_its_way() -> None:
    call = ports.Call("/chat/completions", b"{}", {}, "m", stream=False)
    with pytest.raises(AttributeError):
        call.body = b""  # type: ignore[misc]
