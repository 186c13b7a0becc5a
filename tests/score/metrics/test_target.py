"""The target that an answer is judged against, as the columns of a row define it."""

from __future__ import annotations

from niah_score.metrics import METRICS, target_of


def test_a_target_is_built_from_the_columns_of_a_row() -> None:
    needles = ["The gate is blue.", "The lamp is red."]
    row = {
        "answers": ["It is blue.", "Blue."],
        "keywords": [["blue", "azure"], ["gate"]],
        "needles": needles,
        "answer_prefix": "It is:",
        "language": "zh",
        "metric": "keyword",
    }
    target = target_of(row)
    assert (target.answers, target.keywords) == (("It is blue.", "Blue."), (("blue", "azure"), ("gate",)))
    assert (target.needles, target.prefix, target.language) == (tuple(needles), "It is:", "zh")
    assert METRICS["keyword"].judge("An azure gate.", target).value == 100


def test_a_row_needs_only_answers() -> None:
    target = target_of({"answers": ["x"], "keywords": None})
    assert (target.answers, target.keywords, target.needles, target.prefix) == (("x",), (), (), None)
    assert target.language == "en"
