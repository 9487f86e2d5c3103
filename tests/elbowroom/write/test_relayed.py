from __future__ import annotations

import json

import pytest
from msgspec import structs

from elbowroom.read.relayed import Route, read_relayed
from elbowroom.records import Edit
from elbowroom.write.relayed import relay
from tests.walk import MODEL

BODY = b'{ "model":"m" ,"input" : "\\u0061", "odd":1.50 }'


@pytest.mark.parametrize("route", ["embeddings", "responses"])
def test_what_needs_no_edit_leaves_byte_for_byte(route: Route):
    sent = relay(read_relayed(BODY, route), MODEL, None)
    assert (sent.body, sent.edits, sent.output_limit) == (BODY, (), None)


def test_a_models_name_is_mapped_and_the_rest_moves_as_bytes():
    sent = relay(read_relayed(BODY, "embeddings"), structs.replace(MODEL, upstream_model="there"), 50)
    assert sent.body == b'{"model":"there","input":"\\u0061","odd":1.50}'
    assert (sent.edits, sent.output_limit) == ((Edit.MODEL_MAPPED,), None)


def test_a_response_without_a_maximum_gets_the_cap():
    sent = relay(read_relayed(BODY, "responses"), MODEL, 50)
    assert json.loads(sent.body)["max_output_tokens"] == 50
    assert (sent.edits, sent.output_limit) == ((Edit.OUTPUT_CAPPED,), 50)
    named = read_relayed(BODY[:-1] + b',"max_output_tokens":9}', "responses")
    assert relay(named, MODEL, 50) == structs.replace(sent, body=named.body, edits=(), output_limit=9)
