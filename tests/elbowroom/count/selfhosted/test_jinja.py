"""Templates render as the servers render them, and reach nothing outside."""

from __future__ import annotations

import builtins

import pytest

from elbowroom.count.selfhosted.jinja import MISSING, Refused, Template
from elbowroom.errors import CountUnavailable


def rendered(source: str, **variables) -> str:
    return Template(source, today="2026-02-03").render(variables)


def test_blocks_take_their_line_with_them():
    assert rendered("{% if true %}\n  {% for x in [1, 2] %}\n{{ x }}\n  {% endfor %}\n{% endif %}\nend") == "1\n2\nend"


def test_loops_can_be_left_and_skipped():
    source = (
        "{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 3 %}{% break %}{% endif %}{{ x }}"
    )
    assert rendered(source + "{% endfor %}") == "02"


def test_json_is_plain_and_in_the_order_given():
    value = {"b": "é<&'", "a": [1, None, True]}
    assert rendered("{{ v | tojson }}", v=value) == '{"b": "é<&\'", "a": [1, null, true]}'
    assert rendered("{{ v | tojson(indent=1) }}", v={"a": 1}) == '{\n "a": 1\n}'


def test_generation_marks_print_what_is_in_them():
    assert rendered("a{% generation %}{{ x }}{% endgeneration %}c", x="b") == "abc"


def test_the_date_is_the_one_given():
    assert rendered("{{ strftime_now('%d %b %Y') }}") == "03 Feb 2026"
    assert Template("{{ strftime_now('%d') }}", today="2026-02-03").dated
    assert not Template("{{ x }}").dated


def test_without_a_date_a_template_that_asks_for_one_is_refused():
    with pytest.raises(CountUnavailable, match="strftime_now"):
        Template("{{ strftime_now('%d') }}")


def test_text_of_a_message_is_never_a_template():
    assert rendered("{{ x }}", x="{{ 7 * 7 }}{% raise %}") == "{{ 7 * 7 }}{% raise %}"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[0].role }}", "messages"),
        ("{{ 'a' + {} }}", "concatenate"),
        ("{{ 1 / 0 }}", "zero"),
        ("{{ [].append(1) }}", "append"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ range(10000000) | list }}", "big"),
        ("{{ v | tojson }}", "serializable"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
    ],
)
def test_what_a_template_refuses_is_said_in_its_words(source, words):
    with pytest.raises(Refused, match=words):
        rendered(source, v={1, 2})


def test_what_is_no_template_is_said_with_its_line():
    with pytest.raises(CountUnavailable, match="line 2"):
        Template("a\n{% if %}")


@pytest.mark.parametrize(
    ("source", "walks"),
    [
        ("{% for part in message['content'] %}{% endfor %}", True),
        ("{% for part in message.content | list %}{% endfor %}", True),
        ("{% for part in content %}{% endfor %}", True),
        ("{% for part in m.content %}{% endfor %}", True),
        ("{% for message in messages %}{{ message.content }}{% endfor %}", False),
        ("{% for part in other.content %}{% endfor %}", False),
        ("{% for part in message[0] %}{% endfor %}", False),
        ("{% for part in message[key] %}{% endfor %}", False),
        ("{% for part in f() %}{% endfor %}", False),
    ],
)
def test_whether_it_walks_through_parts_is_seen(source, walks):
    assert Template(source).walks_parts is walks


def test_without_jinja2_it_is_said_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("jinja2"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CountUnavailable) as refused:
        Template("x")
    assert refused.value.message == MISSING
