"""needlebench_multi and needlebench_parallel: as OpenCompass computes them, quirks included."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, value
from properties import examples

from niah_score.metrics import Score

# Case, white space, the asterisks and hashes that packing trips over, Chinese, a letter that lower() splits.
ODD = "aAbB *#小明，\t\n\u3000İß1"
odd = st.text(ODD, max_size=12)
words = st.text("aAb 小明1", min_size=1, max_size=4)


def published_multi(prediction: str, packed: str) -> float | None:
    """The score of one answer by the published steps; None where they fail."""
    parts = packed.split("*")
    if len(parts) != 2:
        return None
    listed, text = parts[1].lower().split(), prediction.lower()
    score = 0.0
    for word in listed:
        if text.find(word) >= 0:
            score += 1
    return score * (100 / len(listed)) if listed else 0.0


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


@examples(150)
@given(text=odd, answer=odd, keyword=odd)
def test_multi_agrees_with_the_published_steps_on_any_texts(text: str, answer: str, keyword: str) -> None:
    expected = published_multi(text, f"{answer}*{keyword}")
    actual = value("needlebench_multi", text, answer, keywords=((keyword,),))
    assert actual == (None if expected is None else pytest.approx(expected, abs=1e-9))


def test_multi_counts_words_inside_other_words() -> None:
    assert value("needlebench_multi", "Dan told many", "x", keywords=(("an old man",),)) == 100
    assert value("needlebench_multi", "the man", "x", keywords=(("an old man",),)) == pytest.approx(200 / 3)


def test_multi_treats_a_chinese_keyword_as_one_word_and_ignores_case() -> None:
    assert value("needlebench_multi", "是张红", "张红梅", keywords=(("张红梅",),)) == 0
    assert judged("needlebench_multi", "JASMINE", "x", keywords=(("Jasmine Lane",),)) == Score(
        50.0, {"found": 1, "words": 2}
    )


def test_multi_counts_a_word_as_often_as_the_keyword_repeats_it() -> None:
    assert value("needlebench_multi", "a", "x", keywords=(("a b a",),)) == pytest.approx(200 / 3)


def test_multi_never_exceeds_100_for_many_words() -> None:
    assert value("needlebench_multi", "a", "x", keywords=((" ".join("a" * 11),),)) == 100


def test_multi_is_0_for_an_empty_keyword_and_null_for_none_or_several() -> None:
    assert judged("needlebench_multi", "a", "x", keywords=((" ",),)) == Score(0.0, {"found": 0, "words": 0})
    for keywords in ((), (("a",), ("b",))):
        assert value("needlebench_multi", "a b", "x", keywords=keywords) is None


@examples(100)
@given(rows=st.integers(1, 6).flatmap(lambda depths: st.lists(
    st.tuples(odd, st.lists(st.text("aAb *小1", max_size=3), min_size=depths, max_size=depths)), min_size=1, max_size=5
)))  # fmt: skip
def test_parallel_rows_reproduce_the_published_average_and_depth_scores(
    rows: list[tuple[str, list[str]]],
) -> None:
    depths = [10 * place for place in range(len(rows[0][1]))]
    golds = ["*".join(keywords) + "#" + "*".join(map(str, depths)) for _, keywords in rows]
    expected = published_parallel([text for text, _ in rows], golds)
    scores = [judged("needlebench_parallel", text, keywords=tuple((one,) for one in asked)) for text, asked in rows]
    assert fmean(score.value or 0.0 for score in scores) == pytest.approx(expected["average"], abs=1e-9)
    for place, depth in enumerate(depths):
        assert 100 * fmean(score.parts["found"][place] for score in scores) == pytest.approx(expected[f"Depth{depth}"])


def test_parallel_looks_only_for_the_first_spelling_exactly_as_written() -> None:
    keywords = (("Reed", "reed"), ("1,024",), ("靛蓝",))
    assert judged("needlebench_parallel", "reed, 1024, 靛蓝色", keywords=keywords) == Score(
        100 / 3, {"found": [False, False, True]}
    )


def test_an_asterisk_in_a_keyword_shifts_the_others_and_drops_the_last() -> None:
    keywords = (("5*",), ("hotel",), ("park",))
    assert judged("needlebench_parallel", "5 hotel park", keywords=keywords).parts["found"] == [True, True, True]
    assert judged("needlebench_parallel", "park", keywords=keywords).parts["found"] == [False, True, False]


def test_parallel_is_null_without_keywords_and_where_a_hash_hides_the_depths() -> None:
    for keywords in ((), (("a",), ("#b",))):
        assert judged("needlebench_parallel", "a #b", keywords=keywords) == Score(None, {"found": None})


@examples(50)
@given(keyword=words, text=odd)
def test_parallel_with_one_keyword_equals_the_single_score_of_v2(keyword: str, text: str) -> None:
    keywords = ((keyword,),)
    assert value("needlebench_parallel", text, keywords=keywords) == value("needlebench_v2", text, keywords=keywords)
