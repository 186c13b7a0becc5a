"""The scores of CDME and NeedleBench: as OpenCompass computes them, quirks included."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, value
from properties import examples

from niah_score.metrics import METRICS, Score, Target

GOLDENS = Path(__file__).parents[4] / "shared" / "golden" / "opencompass_scores.jsonl"
NAMES = ("cdme", "cdme_trim", "cdme_multi", "needlebench_v1", "needlebench_v1_trim", "needlebench_v2")
# White space of all kinds, and what only looks like it; asterisks and hashes; case; emoji; combining marks.
ODD = "aAbB小明。*# \t\n\r\x0b\x1c\x1f\x85\xa0\u1680\u2003\u2028\u3000\u200b\ufeff😀👩\u200d\u0301éİß1"
odd = st.text(ODD, max_size=14) | st.text(max_size=10) | st.text("小明喜欢实习。ab", max_size=60)


def of(metric: str, text: str, answer: str, *keywords: str) -> Score:
    return judged(metric, text, answer, keywords=tuple((word,) for word in keywords))


def score(metric: str, text: str, answer: str, *keywords: str) -> Any:
    return of(metric, text, answer, *keywords).value


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


def test_scores_equal_those_of_the_published_evaluators_on_every_golden_line() -> None:
    if not GOLDENS.is_file():
        pytest.skip(f"needs {GOLDENS}: scores of the published evaluators, not part of the repository")
    with GOLDENS.open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert len(lines) == 330
    for metric in NAMES:
        for line in lines:
            one = of(metric, line["prediction"], line["answer"], line["keyword"])
            assert one.value == pytest.approx(line[metric]["score"], abs=1e-9)
            assert one.parts.get("edit_distance") == line[metric]["edit_distance"]


@examples(200)
@given(text=odd, answer=odd, word=odd)
def test_scores_and_distances_match_the_formulas_on_any_texts(text: str, answer: str, word: str) -> None:
    for metric, (expected, apart) in published(text, answer, word).items():
        actual = of(metric, text, answer, word)
        assert actual.value == pytest.approx(expected, abs=1e-9), metric
        assert actual.parts.get("edit_distance") == apart, metric
    found = of("cdme_multi", text, answer, word).parts["keyword_found"]
    assert found == (word.split("*")[0] in squeezed(text)) or "*" in answer
    assert score("needlebench_multi", text, answer, word) == published_multi(text, f"{answer}*{word}")
    if "#" not in word and "*" not in word:
        assert score("needlebench_parallel", text, "-", word) == 100 * (word in text)


def test_all_python_white_space_is_dropped_and_nothing_else() -> None:
    target = Target(("",))
    for char in map(chr, (*range(0xD800), *range(0xE000, 0x10000), 0x1F600)):
        assert METRICS["cdme"].judge(char, target).parts["edit_distance"] == len(squeezed(char)), char


def test_an_empty_keyword_is_found_everywhere_and_null_if_there_are_none_or_several() -> None:
    for metric in ("cdme_multi", "needlebench_v1", "needlebench_v1_trim", "needlebench_v2"):
        assert score(metric, "nonsense", "The answer", "") == 100
        for keywords in ((), ("a", "b")):
            actual = of(metric, "a b", "a b", *keywords)
            assert actual.value is actual.parts.get("keyword_found") is None
    assert of("needlebench_multi", "a", "x", " ") == Score(0.0, {"found": 0, "words": 0})
    assert score("needlebench_multi", "a b", "x") is score("needlebench_multi", "a b", "x", "a", "b") is None


def test_the_first_answer_and_the_first_spelling_are_the_published_ones() -> None:
    target = Target(("It is red", "xyz"), (("red", "crimson"),))
    assert [METRICS["needlebench_v2"].judge(text, target).value for text in ("crimson", "red")] == [0, 100]
    assert METRICS["cdme"].judge("xyz", target).value == 0


# needlebench_multi and needlebench_parallel --------------------------------------------------------------------------


def published_multi(prediction: str, packed: str) -> Any:
    """The score of one answer by the published steps; None where they fail."""
    parts = packed.split("*")
    if len(parts) != 2:
        return None
    listed, text = parts[1].lower().split(), prediction.lower()
    return pytest.approx(sum(text.find(word) >= 0 for word in listed) * 100 / len(listed)) if listed else 0.0


def published_parallel(predictions: Sequence[str], golds: Sequence[str]) -> dict[str, float]:
    """The scores of a dataset by the published steps: one for each depth, and their average."""
    depths = [int(text) for text in golds[0].split("#")[1].split("*")]
    scores = dict.fromkeys(depths, 0.0)
    for prediction, gold in zip(predictions, golds, strict=True):
        listed = gold.split("#")[0].split("*")
        for place in range(min(len(listed), len(depths))):
            if listed[place] in prediction:
                scores[depths[place]] += 100 / len(predictions)
    return {**{f"Depth{depth}": score for depth, score in scores.items()}, "average": fmean(scores.values())}


@examples(100)
@given(rows=st.integers(1, 6).flatmap(lambda depths: st.lists(
    st.tuples(odd, st.lists(st.text("aAb *小1", max_size=3), min_size=depths, max_size=depths)), min_size=1, max_size=5
)))  # fmt: skip
def test_parallel_rows_reproduce_the_published_average_and_depth_scores(rows: list[tuple[str, list[str]]]) -> None:
    depths = [10 * place for place in range(len(rows[0][1]))]
    golds = ["*".join(keywords) + "#" + "*".join(map(str, depths)) for _, keywords in rows]
    expected = published_parallel([text for text, _ in rows], golds)
    scores = [of("needlebench_parallel", text, "-", *asked) for text, asked in rows]
    assert fmean(score.value or 0.0 for score in scores) == pytest.approx(expected["average"], abs=1e-9)
    for place, depth in enumerate(depths):
        assert 100 * fmean(score.parts["found"][place] for score in scores) == pytest.approx(expected[f"Depth{depth}"])


@each(
    ("text", "keywords", "found"),
    [
        ("reed, 1024, 靛蓝色", ("Reed", "1,024", "靛蓝"), [False, False, True]),  # exactly as written
        ("5 hotel park", ("5*", "hotel", "park"), [True, True, True]),  # an asterisk shifts the others
        ("park", ("5*", "hotel", "park"), [False, True, False]),  # and drops the last
        ("a #b", (), None), ("a #b", ("a", "#b"), None),  # a hash hides the depths
    ],
)  # fmt: skip
def test_parallel_packs_keywords_with_asterisks(text: str, keywords: tuple[str, ...], found: list[bool] | None) -> None:
    expected = None if found is None else pytest.approx(100 * sum(found) / len(found))
    assert of("needlebench_parallel", text, "-", *keywords) == (expected, {"found": found})


# needlebench_boxed ----------------------------------------------------------------------------------------------------


def test_a_box_with_the_answer_is_right_however_it_is_typeset() -> None:
    for text in (
        r"\boxed{Ann Lee}", r"So it is \boxed{Ann Lee}.", r"\boxed{Bob}, no: \boxed{Ann Lee}", r"\boxed{{Ann Lee}}",
        r"\boxed{\text{Ann Lee}}", r"\boxed{Ann~Lee}", r"\boxed{ Ann   Lee }", r"\boxed{'Ann Lee'}",
        r"\boxed{Ann\ Lee}", "\\boxed{Ann\nLee}", r"\[\boxed{\text{Ann }\text{Lee}}\]",
    ):  # fmt: skip
        assert judged("needlebench_boxed", text, "Ann Lee") == (100, {"boxed": True}), text


def test_only_the_last_box_counts_and_it_must_match_exactly() -> None:
    for text in (
        "Ann Lee", r"\boxed{}", r"\boxed Ann Lee", r"\boxed{Ann Lee", r"\boxed{Ann Lee} or \boxed{Ann",
        r"\boxed{ann lee}", r"\boxed{Ann Lee.}", r"\boxed{Ann Lee} \boxed", r"\fbox{Ann Lee}", "",
    ):  # fmt: skip
        assert value("needlebench_boxed", text, "Ann Lee") == 0, text
    assert value("needlebench_boxed", r"\boxed{Ann O'Lee}", "Ann O'Lee") == 0


def test_an_answer_without_a_box_counts_as_the_text_none() -> None:
    assert judged("needlebench_boxed", "anything", "None") == (100, {"boxed": False})
    assert judged("needlebench_boxed", r"\boxed{None}", "None") == (100, {"boxed": True})
