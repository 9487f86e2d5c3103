"""The body of a relayed request as it leaves: the client's bytes, but for the model's name and an output cap.

Knows: which member each of the two edits touches.
Does not know: chats (`place`), or why there is a cap.
"""

from __future__ import annotations

from elbowroom.read.message import encode, join_members
from elbowroom.read.relayed import Relayed
from elbowroom.records import Edit, Model
from elbowroom.write.place import Placed


def relay(asked: Relayed, model: Model, output_cap: int | None) -> Placed:
    """`output_cap` is sent where the client named no maximum of a response, in tokens."""
    fields, edits, limit = dict(asked.fields), [], asked.max_output
    if model.upstream_model != asked.model:
        fields["model"] = encode(model.upstream_model)
        edits.append(Edit.MODEL_MAPPED)
    if asked.route == "responses" and limit is None and output_cap is not None:
        fields["max_output_tokens"] = encode(output_cap)
        edits.append(Edit.OUTPUT_CAPPED)
        limit = output_cap
    return Placed(join_members(fields) if edits else asked.body, tuple(edits), limit)
