"""Folding: texts that differ only in width, case, script or digit grouping compare equal, and no others do."""

from __future__ import annotations

import importlib
import pkgutil
import re
import unicodedata
from types import SimpleNamespace

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_score.metrics
import niah_score.scoring
import niah_score.text
from niah_score.text import fold
from niah_score.text.fold import late, simplified_characters, without_accents

steady = examples(200)


@each(("text", "folded"), [
    ("Dolores Park", "dolores park"), ("ＤＯＬＯＲＥＳ　Ｐａｒｋ", "dolores park"),
    ("  two \t\n words\u3000here ", "two words here"), ("a\u00a0b\u2028c", "a b c"),
    ("Straße STRASSE", "strasse strasse"), ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"), ("ﬁne №5 ½ ①", "fine no5 1⁄2 1"),
    ("cafe\u0301 Quỳnh Đào", "cafe quynh dao"), ("417¹ m² Turquoise²³", "417 m2 turquoise"),
    ("①£417 ⒉283", "(1)£417 (2)283"), ("１，０２４", "1024"), ("上海，实验室。", "上海,实验室。"),
    ("靛藍、雲鑼、17點43分", "靛蓝、云锣、17点43分"), ("lamb\u2019s", "lamb's"), ("", ""), (" \n ", ""),
])  # fmt: skip
def test_width_case_composition_and_white_space_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@each(("text", "folded"), [
    ("1,024", "1024"), ("1,234,567", "1234567"), ("12,345,678.9", "12345678.9"), ("$1,000!", "$1000!"),
    ("1,024,5", "1024,5"), ("1,0245", "1,0245"), ("1,02", "1,02"), ("1, 024", "1, 024"), ("a,024", "a,024"),
    (",024", ",024"), ("1,024a", "1024a"), ("0,000,000", "0000000"), ("1,,024", "1,,024"), ("283，417", "283, 417"),
    ("283，41", "283,41"), ("第283，417号", "第283, 417号"),
])  # fmt: skip
def test_only_commas_that_group_digits_are_dropped(text: str, folded: str) -> None:
    assert fold(text) == folded


@steady
@given(text=st.text(max_size=30) | st.text("0123456789,. ａＡß中\u0301\n", max_size=30))
def test_folding_again_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@steady
@given(
    text=st.text("，：；！？（）％、。“”‘’—…aＡ中藍é\u0301\u0338\u3099=か１,23 \n", max_size=30) | st.text(max_size=30)
)
def test_shortcuts_for_common_text_agree_with_the_full_rule(text: str) -> None:
    text = re.sub("[\u00b2\u00b3\u00b9\u2070-\u2079\u2460-\u249b]", "", text)  # marks of footnotes and items
    wide = "[\uff10-\uff19]"
    text_ = re.sub(rf"(?<={wide})\uff0c(?={wide}{{3}}(?!{wide}))", "", text).replace("\uff0c", "\ue000")
    folded = unicodedata.normalize("NFKC", text_).casefold().translate(simplified_characters())
    folded = unicodedata.normalize("NFKC", folded.replace("\u2018", "'").replace("\u2019", "'"))
    folded = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", " ".join(without_accents(folded).split()))
    assert fold(text) == re.sub("(?<=\\d)\ue000(?=\\d{3}(?!\\d))", ", ", folded).replace("\ue000", ",")


def test_a_letter_that_case_folding_takes_apart_is_composed_again() -> None:
    """Greek \u0390 has no capital of its own: upper case spells it with a combining accent."""
    assert fold("ταΐζω".upper()) == fold("ταΐζω")


@steady
@given(
    lines=st.lists(
        st.text(max_size=20)
        | st.sampled_from(["1,", "234", "\uff0c234", "\uff11\uff0c", "\u0301a", "\u00a0", "\r", ""]),
        max_size=6,
    )
)
def test_the_lines_of_a_long_text_fold_like_short_texts(lines: list[str]) -> None:
    text = "\n".join(lines)
    plain = "plain words, and 1,024 of them\n" * 700
    assert fold(f"{plain}{text}\n{plain}") == " ".join(filter(None, (fold(plain), fold(text), fold(plain))))


def test_a_long_text_without_line_ends_is_folded() -> None:
    assert fold("Caf\u00e9 " * 5_000 + "x" * 500_000) == "cafe " * 5_000 + "x" * 500_000


def test_every_late_pattern_of_the_package_compiles() -> None:
    rooms = (niah_score.text, niah_score.scoring, niah_score.metrics)
    names = [f"{room.__name__}.{one.name}" for room in rooms for one in pkgutil.iter_modules(room.__path__)]
    modules = [importlib.import_module(name) for name in names]
    phrases = [value for module in modules for value in vars(module).values() if isinstance(value, SimpleNamespace)]
    values = [value for known in (*modules, *phrases) for value in vars(known).values()]
    late_ones = [value for value in values if type(value) is type(late(""))]
    for value in late_ones:
        re.compile(value.pattern, value.flags)
    assert len(late_ones) > 100
