"""File names made from texts: ordinary names stay, and no text leads out of its folder."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text.file_names import plain_name
from niah_score.text.visible import visible


@each(
    ("text", "name"),
    [
        ("gpt-4o_mini.v2", "gpt-4o_mini.v2"),
        ("小明-7B", "小明-7B"),
        ("qwen/7b instruct", "qwen-7b-instruct"),
        ("../../x", "-..-x"),
        ("...", ""),
        ("a\0b\x1bc", "a-b-c"),
    ],
)
def test_letters_and_digits_of_any_script_stay_and_the_rest_becomes_dashes(text: str, name: str) -> None:
    assert plain_name(text) == name


def test_a_long_name_is_cut_to_a_length_that_file_systems_allow() -> None:
    assert plain_name("x" * 300) == "x" * 100
    assert plain_name("小" * 300) == "小" * 66


@examples(100)
@given(st.text(max_size=120))
def test_no_text_with_a_suffix_leads_out_of_a_folder(text: str) -> None:
    name = plain_name(text) + "-0"
    assert not set(name) & set("/\\:\0")
    assert visible(name) == name
    assert len(name.encode()) < 255
