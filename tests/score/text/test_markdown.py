"""Markdown: texts are shown literally, whatever signs they contain, and nothing in them becomes a link."""

from __future__ import annotations

import re

from each import each
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from properties import examples

from niah_score.text.markdown import in_markdown, paragraph_in_markdown
from niah_score.text.visible import one_line

SIGNS = "\\`*_{}[]<>#|~$&!^:/.@()-+=1 aw\n\t\"'"


@each(
    ("text", "shown"),
    [
        ("en_essays", "en_essays"),
        ("_x_", "\\_x\\_"),
        ("https://a.org|b", "`https://a.org`\\|b"),
        ("see www.a.org.", "see `www.a.org.`"),
        ("a@b.org", "`a@b.org`"),
        ("1 < 2 & 3", "1 &lt; 2 &amp; 3"),
        ("\\[x](y)", "\\\\\\[x\\](y)"),
    ],
)
def test_signs_and_addresses_are_escaped(text: str, shown: str) -> None:
    assert in_markdown(text) == shown


@examples(200)
@given(st.text(st.sampled_from(SIGNS) | st.characters(), max_size=30))
def test_any_text_is_shown_literally_in_a_cell_and_in_a_paragraph(text: str) -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    expected = one_line(text).strip()
    for made in (f"| a |\n|---|\n| {in_markdown(text)} |", paragraph_in_markdown(text)):
        blocks = reader.parse(made)
        assert not [block for block in blocks if re.search("html|list|heading|hr|fence|code|quote", block.type)]
        pieces = [block.children or [] for block in blocks if block.type == "inline"]
        shown = "".join(token.content for token in pieces[-1]) if pieces else ""
        assert shown == expected
        assert {token.type for token in (pieces or [[]])[-1]} <= {"text", "text_special", "code_inline"}


def test_a_leading_hyphen_or_number_does_not_begin_a_list() -> None:
    assert paragraph_in_markdown("- x") == "\\- x"
    assert paragraph_in_markdown("12. x") == "12\\. x"
