"""The markup of HTML and Markdown is removed from between the words of an answer."""

from __future__ import annotations

from each import each

from niah_score.scoring.markup import without_markup


@each(
    ("text", "expected"),
    [
        ("<p>Drawer <b>417</b></p>", "Drawer 417"),
        ('<div class="x">Drawer<br/>417</div>', "Drawer\n417"),
        ("<STRONG>Dolores</STRONG> <span style='x'>Park</span>", "Dolores Park"),
        ("Tom &amp; Jerry&#39;s, &pound;4.35", "Tom & Jerry's, £4.35"),
        ("It is in drawer **417**.", "It is in drawer 417."),
        ("***Drawer*** *417*", "Drawer 417"),
        ("Dolores **Park**", "Dolores Park"),
        ("靛**蓝**色", "靛蓝色"),
        ("Drawer `417`", "Drawer 417"),
        ("```\nDrawer 417\n```", "Drawer 417"),
        ("```text\nDrawer 417\n```", "Drawer 417"),
        ("~~Drawer 512~~ Drawer 417", "Drawer 417"),
        ("> Drawer 417", "Drawer 417"),
        ("> Drawer\n> 417", "Drawer\n417"),
        ("[Drawer 417](https://example.org/a)", "Drawer 417"),
    ],
)
def test_markup_is_removed(text: str, expected: str) -> None:
    assert without_markup(text).strip() == expected


@each(
    "text",
    [
        "2**3**4",
        "5 * 3 * 2",
        "2*3*4",
        "a ** b",
        "**",
        "****",
        "* item\n* item",
        "<blue>",
        "a < b and c > d",
        "a<b and c>d",
        "<img src=x>",
        "x & y; z",
        "&unknown;",
        "[1] blue",
        "[a] (b)",
        "~ 5",
        "a_b_c",
        "__init__",
        "`",
        "a > b",
        "```\na\n```\nb\n```\nc\n```",
        "",
    ],
)
def test_text_that_is_not_markup_is_unchanged(text: str) -> None:
    assert without_markup(text) == text
