"""Untrusted texts are shown with their control characters escaped and everything else unchanged."""

from __future__ import annotations

import os
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text.visible import one_line, visible, visible_path, without_surrogates


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
