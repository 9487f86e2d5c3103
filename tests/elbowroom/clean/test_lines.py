from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.lines import behind


@given(st.sampled_from(["| ", "> ", "^ "]), st.lists(st.sampled_from(["a", "\n", "| ", " "])).map("".join))
def test_the_prefix_stands_before_each_line_and_can_be_taken_away(prefix: str, body: str):
    lines = behind(prefix, body).split("\n")
    assert all(line.startswith(prefix) for line in lines)
    assert "\n".join(line[len(prefix) :] for line in lines) == body
    assert behind("", body) is body
