"""The scores of CDME and NeedleBench: as OpenCompass computes them, quirks included."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import METRICS, Chunk, Score, Target, judge_all

GOLDENS = Path(__file__).parents[4] / "shared" / "golden" / "opencompass_scores.jsonl"
NAMES = ("cdme", "cdme_trim", "cdme_multi", "needlebench_v1", "needlebench_v1_trim", "needlebench_v2")
NEEDLE = "\n小明最喜欢的实习的地点就是上海人工智能实验室。\n"
SENTENCE = NEEDLE.strip()

# White space of all kinds, and what only looks like it; asterisks; emoji; combining marks.
ODD = "ab小明。* \t\n\r\x0b\x1c\x1f\x85\xa0\u1680\u2003\u2028\u3000\u200b\ufeff😀👩\u200d\u0301é"
odd = st.text(ODD, max_size=14) | st.text(max_size=10)


def judged(metric: str, text: str, answer: str, *keywords: str) -> Score:
    return METRICS[metric].judge(text, Target((answer,), tuple((word,) for word in keywords)))


def score(metric: str, text: str, answer: str, *keywords: str) -> Any:
    return judged(metric, text, answer, *keywords).value


def distance(metric: str, text: str, answer: str, *keywords: str) -> Any:
    return judged(metric, text, answer, *keywords).parts["edit_distance"]


def levenshtein(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for number, char in enumerate(one, 1):
        above, row = row, [number]
        for place, facing in enumerate(other, 1):
            row.append(min(above[place] + 1, row[place - 1] + 1, above[place - 1] + (char != facing)))
    return row[-1]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def trimmed(text: str, reference: str) -> str:
    cut = text[: int(1.2 * len(reference))]
    shortest = int(0.8 * len(reference))
    if reference and len(cut) > shortest and reference[-1] in cut[shortest:]:
        cut = cut[: shortest + cut[shortest:].index(reference[-1]) + 1]
    return cut


def edit(text: str, reference: str) -> tuple[float, int]:
    apart = levenshtein(text, reference)
    longer = max(len(text), len(reference))
    return (100 * (1 - apart / longer) if longer else 100.0), apart


def published(text: str, answer: str, keyword: str) -> dict[str, tuple[float, int | None]]:
    """All six scores with their distances, from the formulas."""
    packed = f"{answer}*{keyword}".split("*")
    output, whole, reference, word = squeezed(text), squeezed(answer), squeezed(packed[0]), packed[1]

    def corrected(pair: tuple[float, int], searched: str) -> tuple[float, int]:
        return (100.0 if word in searched else 0.2 * pair[0]), pair[1]

    return {
        "cdme": edit(output, whole),
        "cdme_trim": edit(trimmed(output, whole), whole),
        "cdme_multi": corrected(edit(output, reference), output),
        "needlebench_v1": corrected(edit(output, reference), text),
        "needlebench_v1_trim": corrected(edit(trimmed(output, reference), reference), text),
        "needlebench_v2": (100.0 if word in text else 0.0, None),
    }


@pytest.mark.parametrize("metric", NAMES)
def test_scores_equal_those_of_the_published_evaluators_on_every_golden_line(metric: str) -> None:
    if not GOLDENS.is_file():
        pytest.skip(f"needs {GOLDENS}: scores of the published evaluators, not part of the repository")
    with GOLDENS.open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    chunk = Chunk(
        [line["prediction"] for line in lines], [Target((line["answer"],), ((line["keyword"],),)) for line in lines]
    )
    columns = judge_all(METRICS[metric], chunk)
    assert columns.values == pytest.approx([line[metric]["score"] for line in lines], abs=1e-9)
    distances = [line[metric]["edit_distance"] for line in lines]
    assert columns.parts.get("edit_distance", [None] * len(lines)) == distances
    alone = [METRICS[metric].judge(*row) for row in zip(chunk.texts, chunk.targets, strict=True)]
    assert [one.value for one in alone] == columns.values
    assert len(lines) == 330


@examples(150)
@given(text=odd, answer=odd, word=odd)
def test_scores_and_distances_match_the_formulas_on_any_texts(text: str, answer: str, word: str) -> None:
    for metric, (expected, apart) in published(text, answer, word).items():
        actual = judged(metric, text, answer, word)
        assert actual.value == pytest.approx(expected, abs=1e-9)
        assert actual.parts.get("edit_distance") == apart


@examples(150)
@given(text=st.text("小明喜欢实习。ab", max_size=60), answer=st.text("小明喜欢实习。ab", max_size=40))
def test_trimming_cuts_at_the_references_last_character_between_four_and_six_fifths(text: str, answer: str) -> None:
    assert score("cdme_trim", text, answer) == pytest.approx(edit(trimmed(text, answer), answer)[0], abs=1e-9)


def test_all_python_white_space_is_dropped_and_nothing_else() -> None:
    everything = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x10000), 0x1F600)]
    expected = [edit(squeezed(char), "") for char in everything]
    assert [distance("cdme", char, "") for char in everything] == [apart for _, apart in expected]


# Quirks, with the numbers of the published evaluators ---------------------------------------------------------------


def test_a_preface_of_five_characters_costs_18_points_and_trimming_costs_more() -> None:
    assert score("cdme", f"答案如下：{SENTENCE}", NEEDLE) == pytest.approx(82.1, abs=0.05)
    assert score("cdme_trim", f"答案如下：{SENTENCE}", NEEDLE) == pytest.approx(77.8, abs=0.05)


def test_reasoning_before_the_answer_is_judged_with_it() -> None:
    thought = "<think>读者问起地点，再往前翻到那一段文字，再仔细看它一遍吧</think>"
    assert len(thought) == 41
    assert score("cdme", thought + SENTENCE, NEEDLE) == pytest.approx(35.9, abs=0.05)
    assert score("cdme_trim", thought + SENTENCE, NEEDLE) == pytest.approx(7.4, abs=0.05)


def test_trimming_forgives_what_comes_after_the_answer() -> None:
    chatter = "如果还有其他问题请随时告诉我"
    assert score("cdme", SENTENCE + chatter, NEEDLE) == pytest.approx(62.2, abs=0.05)
    assert score("cdme_trim", SENTENCE + chatter, NEEDLE) == 100


def test_a_right_answer_in_few_words_is_punished_for_its_brevity() -> None:
    assert score("cdme", "上海人工智能实验室", NEEDLE) == pytest.approx(100 * 9 / 23)
    assert score("cdme_multi", "上海人工智能实验室", NEEDLE, "上海人工智能实验室") == 100


def test_two_empty_texts_are_equal_and_an_empty_reference_trims_everything() -> None:
    assert score("cdme", " \n", "\u3000") == 100
    assert score("cdme", "x", "") == 0
    assert score("cdme_trim", "x", "") == 100


def test_a_keyword_with_a_space_is_never_found_once_white_space_is_dropped() -> None:
    reference = "The best thing to do in San Francisco is sit in Dolores Park."
    assert score("cdme_multi", reference, reference, "Dolores Park") == pytest.approx(20.0)
    assert score("needlebench_v1", reference, reference, "Dolores Park") == 100
    assert score("cdme_multi", "上海 实验室", "上海实验室", "上海实验室") == 100
    assert score("needlebench_v1", "上海 实验室", "上海实验室", "上海实验室") == pytest.approx(20.0)


def test_an_asterisk_in_the_reference_shifts_the_keyword() -> None:
    reference = "He sleeps in a 5* hotel"
    # The keyword has become " hotel".
    assert score("cdme_multi", "a hotel", reference, "Jack") < 20
    assert score("needlebench_v1", "a hotel", reference, "Jack") == 100
    assert score("needlebench_v2", "It is Jack", reference, "Jack") == 0
    assert distance("cdme_multi", "Hesleepsina5", reference, "Jack") == 0
    assert distance("cdme", "Hesleepsina5", reference, "Jack") == 6


def test_an_asterisk_in_one_row_changes_no_other_row() -> None:
    plain, starred = Target(("abc",), (("b",),)), Target(("a*c",), (("b",),))

    def distances(metric: str, texts: list[str], targets: list[Target]) -> list[Any]:
        return judge_all(METRICS[metric], Chunk(texts, targets)).parts["edit_distance"]

    assert distances("cdme_multi", ["xyz"] * 3, [plain, starred, plain]) == [3, 3, 3]
    assert distances("cdme", ["xyz"] * 3, [plain, starred, plain]) == [3, 3, 3]
    assert distances("cdme_multi", ["ac", "ac"], [plain, starred]) == [1, 1]


def test_an_empty_keyword_is_found_everywhere() -> None:
    for metric in ("cdme_multi", "needlebench_v1", "needlebench_v1_trim", "needlebench_v2"):
        assert score(metric, "nonsense", "The answer", "") == 100


@each(
    ("spelling", "expected"),
    [("Jack", 100), ("jack", 18.5), ("Ｊａｃｋ", 13.8), ("Jackson", 100), ("不是Jack做的", 100)],
)
def test_a_keyword_must_match_in_case_and_width_but_not_as_a_whole_word(spelling: str, expected: float) -> None:
    reference = "最佳电影的导演是Jack。"
    assert score("cdme_multi", reference.replace("Jack", spelling), reference, "Jack") == pytest.approx(
        expected, abs=0.05
    )


def test_needlebench_v2_is_0_for_a_near_miss() -> None:
    assert score("needlebench_v1", "上海人工智能实验宝", "上海人工智能实验室", "上海人工智能实验室") > 17
    assert score("needlebench_v2", "上海人工智能实验宝", "上海人工智能实验室", "上海人工智能实验室") == 0


# What rows may contain -----------------------------------------------------------------------------------------------


@each("metric", ["cdme_multi", "needlebench_v1", "needlebench_v1_trim", "needlebench_v2"])
def test_single_keyword_scores_are_null_where_a_row_has_none_or_several(metric: str) -> None:
    for keywords in ((), ("a", "b")):
        actual = judged(metric, "a b", "a b", *keywords)
        assert actual.value is actual.parts.get("keyword_found") is None
    assert score(metric, "a b", "a b", "a") == 100


def test_the_first_of_several_spellings_is_the_published_keyword() -> None:
    target = Target(("It is red",), (("red", "crimson"),))
    assert [METRICS["needlebench_v2"].judge(text, target).value for text in ("crimson", "red")] == [0, 100]


def test_parts_show_what_a_score_is_made_of() -> None:
    one = judged("cdme", "abd", "abc")
    assert one.value == pytest.approx(200 / 3)
    assert one.parts == {"edit_distance": 1}
    multi = judged("cdme_multi", "abd", "abc", "c")
    assert multi.value == pytest.approx(40 / 3)
    assert multi.parts == {"edit_distance": 1, "keyword_found": False}
    assert judged("cdme_multi", "abd", "abc", "a").parts["keyword_found"] is True
    assert judged("needlebench_v2", "abd", "abc", "a") == (100.0, {})


def test_only_the_first_answer_is_the_reference() -> None:
    target = Target(("abc", "xyz"), (("q",),))
    assert METRICS["cdme"].judge("xyz", target).value == 0
