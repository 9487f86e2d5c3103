"""Every way to write a link is seen, and only those to strangers are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.write.links import Link, foreign, host_of, hosts_in, links

IDN = "退款.公司".encode("idna").decode()


def seen(text: str) -> list[tuple[str, str]]:
    return [(link.kind, link.host) for link in links(text)]


@pytest.mark.parametrize(
    "text",
    [
        "![a](https://evil.example/x.png?d=1)",
        "![a]( <https://evil.example/x y> 'title')",
        "![](//evil.example/x)",
        "![a][r]\n\n [r]: https://evil.example/x",
        "![The  R][]\n\n[the r]: <https://evil.example/x>",
        "![r]\n> [r]: https://evil.example/x",
        "[![a](https://evil.example/x)](#top)",
        "![a [b] c](https://evil.example/x)",
        "<img alt='' src='https://evil.example/x'>",
        '<IMG SRC = "//evil.example/x">',
        "<img src=//evil.example/x>",
        "<video poster='https://evil.example/x'>",
        "<div style=\"background:url('https://evil.example/x')\">",
        "<body background=https://evil.example/>",
        "![a](https&colon;//evil.example/x)",
        "![a](https:/evil.example/x)",
        "![a](https:\\\\evil.example/x)",
        "![a](https\\://evil\\.example/x)",
        "![a](ht\ttps://evil.example/x)".replace("\t", "&Tab;"),
        "![a](https://user@evil.example:8443/x)",
        "![a](https://kb.example@evil.example/x)",
        "![a](https://ｅvil。example/x)",
        "![a](https://ev\u200bil.example/x)",
        "![a](https://%65vil.example/x)",
        "![a](HTTPS://EVIL.EXAMPLE./x)",
    ],
)
def test_images(text: str):
    assert seen(text) == [("image", "evil.example")]


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://evil.example/x)",
        "[a][r]\n\n[r]: https://evil.example/x",
        "[r]\n[r]:\nhttps://evil.example/x",
        "![a [b](https://evil.example/x)",
        "]](https://evil.example/x)",
        "<https://evil.example/x>",
        "See https://evil.example/x.",
        "**https://evil.example**, that is",
        "见https://evil.example/x，然后",
        "见https://evil.example。然后",
        "见https://evil.example查看",
        "www.evil.example".replace("www.", "https://"),
        "https:\\\\evil.example\\x",
        "ftp://evil.example/x",
        '<a href="https://evil.example/x">y</a>',
        "<form action=https://evil.example/x>",
        "`https://evil.example/x`",
    ],
)
def test_links(text: str):
    assert seen(text) == [("link", "evil.example")]


def test_addresses_of_other_kinds():
    assert seen(
        "www.evil.example, or [x](http://[::1]:80/) or http://[::1]/ or http://127.0.0.1:8/ or http://intranet/x"
    ) == [
        ("link", "www.evil.example"),
        ("link", "[::1]"),
        ("link", "[::1]"),
        ("link", "127.0.0.1"),
        ("link", "intranet"),
    ]
    assert seen("https://MÜNCHEN.de https://退款.公司/x [x](https://xn--mnchen-3ya.de)") == [
        ("link", "xn--mnchen-3ya.de"),
        ("link", IDN),
        ("link", "xn--mnchen-3ya.de"),
    ]
    long = "a" * 70
    assert seen(f"https://{long}.example") == [("link", f"{long}.example")]


def test_an_address_in_what_is_none_is_seen():
    for text in ("](\n![x](https://evil.example)", 'src="see https://evil.example"', "src=src=//evil.example",
                 'src="https://kb.example https://evil.example"'):  # fmt: skip
        assert "evil.example" in {host for _, host in seen(text)}
    assert seen("[x](https://kb.example/?to=https://evil.example)") == [("link", "kb.example")]
    padded = "![x](https://" + "a" * 600 + "@kb.example/)"
    assert seen(padded) == [("image", "a" * 492)]


def test_images_come_first_and_each_address_once():
    text = "[a](https://one.example/1)[b](https://two.example/2) ![c](https://three.example/3)"
    assert links(text) == (
        Link("image", "three.example", text.index("https://three"), len(text) - 1),
        Link("link", "one.example", 4, 25),
        Link("link", "two.example", 30, 51),
    )
    assert seen('<img srcset="https://one.example/1 1x, //two.example/2 2x" src="/3">') == [
        ("image", "one.example"),
        ("image", "two.example"),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "plain [S1]", "[a](#b)", "[a](/b)", "![a](data:image/png;base64,//AA)", "[a]()", "[a](javascript:x)",
     "a // b", "//x.example", "data-src=//x.example", "https://", "https://@/x", "<a href=''>", "http:///?x"],
)  # fmt: skip
def test_what_leads_nowhere_else(text: str):
    assert links(text) == ()


def test_strangers_are_those_that_nobody_named():
    found = links(
        "https://kb.example/1 https://sub.docs.example https://docs.example https://shop.example ![x](//evil.example)"
    )
    left = foreign(found, {"kb.example"}, ["*.docs.example", "Shop.example"])
    assert [link.host for link in left] == ["evil.example", "docs.example"]


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://kb.example\\.evil.example/?q=1)",  # a browser's slash, and Markdown's nothing
        "![x](https://kb.example\\@evil.example/)",
        "![x](<https://kb.example\\@evil.example/>)",
        "![x](//kb.example\\x@evil.example/)",  # written as %5C it is part of a user's name
        "![x](https://kb.example&bsol;@evil.example/)",
        "![x][r]\n\n[r]: https://kb.example\\.evil.example/",
        "https://kb.example\\@evil.example/",
        "<https://kb.example。evil.example/>",
        "https://kb.example%2eevil.example/",
        "见https://kb.example．evil.example:80/x，然后",
    ],
)
def test_what_leads_to_a_stranger_in_one_way_of_rendering_it_is_named(text: str):
    (link,) = foreign(links(text), {"kb.example"})
    assert link.host.endswith("evil.example")
    assert link.kind == ("image" if "!" in text else "link")
    assert not foreign(links(text), {"kb.example", "evil.example", "kb.example.evil.example"})


@pytest.mark.parametrize(
    "text", ["见https://kb.example。然后", "https://kb.example…then", "https://kb.example!", "\\\\kb.example"]
)
def test_what_a_sentence_goes_on_with_makes_no_stranger(text: str):
    assert foreign(links(text), {"kb.example"}) == ()


def test_hosts_that_somebody_wrote():
    said = "看kb.example的。Mail bob@shop.example, or http://localhost:3000/x, 退款.公司, Docs.Example/a, 10.0.0.5:80."
    wanted = {"kb.example", "shop.example", "localhost", IDN, "docs.example", "10.0.0.5"}
    assert wanted <= hosts_in(said)
    assert "evil.example" not in hosts_in("evil . example and evil,example")
    assert hosts_in("version 1.2.3.4.5, 1.2.3.4a") == frozenset()


def test_the_host_of_an_address():
    assert host_of("HTTPS://KB.example/x") == "kb.example"
    assert host_of("kb://x") is host_of("") is None


PIECES = st.sampled_from(
    ["![", "[", "](", "]", "]:", ")", "<", ">", "\n", " ", "https://", "//", "a.example", "src=", "srcset=", '"', "'",
     ",", "url(", "\\", "@", "&#x3a;", "退"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map("".join))
def test_links_lie_in_the_text_and_apart(text: str):
    found = links(text)
    assert len({(link.start, link.end) for link in found}) == len(found)
    for link in found:
        assert 0 <= link.start < link.end <= len(text)
        assert link.host
    assert [link.kind for link in found] == sorted(link.kind for link in found)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_whatever_stands_around_an_image_it_is_seen(around: str):
    text = around + "\n\n![x](https://evil.example/p)\n"
    assert "evil.example" in {link.host for link in links(text)}
