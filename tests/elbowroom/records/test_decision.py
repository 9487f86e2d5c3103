from __future__ import annotations

import msgspec

from elbowroom import records


def test_records_are_frozen() -> None:
    kinds = [one for one in vars(records).values() if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    assert all(one.__struct_config__.frozen for one in kinds if one is not msgspec.Struct)
