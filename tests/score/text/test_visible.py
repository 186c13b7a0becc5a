"""Untrusted texts are shown with their control characters escaped and everything else unchanged."""

from __future__ import annotations

import os
import re
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

from each import each
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from properties import examples

from niah_score.text.visible import (
    FORMULA_MARKS,
    as_plain_cell,
    in_markdown,
    one_line,
    paragraph_in_markdown,
    plain_name,
    visible,
    visible_path,
    without_surrogates,
)

SIGNS = "\\`*_{}[]<>#|~$&!^:/.@()-+=1 aw\n\t\"'"


@each(("text", "shown"), [
    ("en_essays", "en_essays"), ("_x_", "\\_x\\_"), ("https://a.org|b", "`https://a.org`\\|b"),
    ("see www.a.org.", "see `www.a.org.`"), ("a@b.org", "`a@b.org`"), ("1 < 2 & 3", "1 &lt; 2 &amp; 3"),
    ("\\[x](y)", "\\\\\\[x\\](y)"),
])  # fmt: skip
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


texts = st.text(st.sampled_from("=+-@'\t\rab"), max_size=4)


@each("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_a_text_that_looks_like_a_formula_gets_a_leading_apostrophe(text: str) -> None:
    assert as_plain_cell(text) == f"'{text}"


@examples(60)
@given(texts)
def test_no_cell_begins_like_a_formula_and_other_texts_are_unchanged(text: str) -> None:
    cell = as_plain_cell(text)
    assert not cell.startswith(FORMULA_MARKS)
    assert cell == text or text.startswith(FORMULA_MARKS)


@each(("text", "name"), [
    ("gpt-4o_mini.v2", "gpt-4o_mini.v2"), ("小明-7B", "小明-7B"), ("qwen/7b instruct", "qwen-7b-instruct"),
    ("../../x", "-..-x"), ("...", ""), ("a\0b\x1bc", "a-b-c"),
])  # fmt: skip
def test_letters_and_digits_of_any_script_stay_and_the_rest_becomes_dashes(text: str, name: str) -> None:
    assert plain_name(text) == name


@examples(100)
@given(st.text(max_size=120))
def test_no_text_with_a_suffix_leads_out_of_a_folder(text: str) -> None:
    name = plain_name(text) + "-0"
    assert not set(name) & set("/\\:\0")
    assert visible(name) == name
    assert len(name.encode()) < 255


def test_control_characters_are_escaped_and_letters_of_any_script_stay() -> None:
    assert visible("\x1b[31m\u202e\ud800 小明 é\n\t") == "\\x1b[31m\\u202e\\ud800 小明 é\n\t"
    assert one_line("  a\n\tb \ufffe ") == "a b \\ufffe"


@examples(60)
@given(st.text())
def test_any_text_becomes_a_single_line_that_xml_allows(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not {unicodedata.category(char) for char in line} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    element = ET.Element("a")
    element.text = line
    assert (ET.fromstring(ET.tostring(element, "utf-8")).text or "") == line


def test_non_utf8_bytes_of_a_path_stay_and_control_characters_are_escaped() -> None:
    raw = os.fsdecode(b"\xff")
    assert visible_path(Path(raw) / "a\x1b\u202e") == f"{raw}/a\\x1b\\u202e"


def test_lone_surrogates_become_replacement_characters_and_all_else_stays() -> None:
    assert without_surrogates("a\ud800b\udfff 🙂 é\0") == "a\ufffdb\ufffd 🙂 é\0"
