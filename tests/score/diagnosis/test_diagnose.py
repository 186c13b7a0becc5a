"""A diagnosis names the fault that answers were made with, and none for a model that is only wrong now and then."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any

import polars as pl
import pytest

from niah_score.diagnosis.diagnose import FAULTS, diagnose, fault_lines

Row = dict[str, Any]
_NAMES = [
    f"{first}{last}" for first in ("Mar", "Tor", "Vel", "Kal", "Bren", "Sol") for last in ("low", "vik", "nas", "dun")
]

_ASKED = (
    "Who looks after",
    "Who once painted",
    "Who buys coal for",
    "Who is the owner of",
    "Who drew",
    "Whose hens are in",
)


def drawn(*of: object) -> float:
    """A number from 0 to 1 that depends on its arguments alone."""
    return int(sha256(repr(of).encode()).hexdigest()[:12], 16) / 16**12


@cache
def rows() -> list[Row]:
    """For each of 4 lengths and 2 languages 8 worlds: 12 single facts about two things each, and 6 sums of several."""
    made = []
    for language in ("en", "zh"):
        for length in (2000, 4000, 8000, 16000):
            for world in range(8):
                name = f"{language}-{world}"
                value = [f"{name} {one}" for one in _NAMES]
                for place in range(12):
                    thing = "Corwin" if place % 2 else "Marlot"
                    question = f"{_ASKED[place // 2]} {thing} Hall?"
                    made.append(row(name, length, language, "records", place, question, value[:12], 100 * place / 11))
                    question = f"What was {place} of {thing} Hall last?"
                    sums = row(name, length, language, "threads", place + 12, question, value[12:], None)
                    made.append(sums)
    return made


@cache
def frame() -> pl.DataFrame:
    return pl.DataFrame(rows())


def row(
    world: str, length: int, language: str, task: str, place: int, question: str, values: list[str], depth: float | None
) -> Row:
    own = values[place % 12]
    return {
        "id": f"{task}-{world}-{length}-{place:02}", "task": task, "part": task, "language": language,
        "needle_id": f"{task}-{world}", "haystack_id": f"{task}-{world}-{length}", "length": length,
        "depth_percent": depth, "question": question, "answers": [own], "keywords": [[own]],
        "decoys": [[value] for value in values if value != own],
        "needles": [f"{('Marlot', 'Corwin')[nth % 2]} Hall once had {value}." for nth, value in enumerate(values)],
    }  # fmt: skip


def scored(change: Callable[[Row], Row | None], accuracy: float = 0.9) -> pl.DataFrame:
    """Scores of a model that is right with a chance, but for what `change` makes of a row."""
    lines = []
    for one in rows():
        right = drawn("right", one["id"]) < accuracy
        rival = one["decoys"][int(drawn("rival", one["id"]) * 11)][0]
        said = (one["answers"][0], "found", 100.0) if right else (rival, "wrong_needle", 0.0)
        line = {**dict(zip(("prediction", "finding", "score"), said, strict=True)), "reasoning": None, "status": "ok"}
        lines.append({"id": one["id"], **line, **(change(one) or {})})
    return pl.DataFrame(lines)


def named(scores: pl.DataFrame) -> list[str]:
    return [fault.fault for fault in diagnose(scores, frame())]


ABSENT: Row = {"prediction": "Not stated.", "finding": "said_absent", "score": 0.0}
WRONG: Row = {"finding": "nothing", "score": 0.0}


def start(one: Row) -> float | None:
    """The tokens before a row's fact; None if it has no single one."""
    return None if one["depth_percent"] is None else float(one["depth_percent"] / 100 * one["length"])


def front(one: Row) -> Row | None:
    at = start(one)
    return ABSENT if at is not None and one["length"] - at > 6000 else None


def end(one: Row) -> Row | None:
    at = start(one)
    return ABSENT if at is not None and at > 5000 else None


def middle(one: Row) -> Row | None:
    at = start(one)
    return ABSENT if at is not None and at > 1000 and one["length"] - at > 3000 else None


def blocks(one: Row, share: float = 0.3) -> Row | None:
    at = start(one)
    # What several facts lead to is lost with any of them.
    needed = [at // 1000] if at is not None else [int(one["id"][-2:]) * part for part in (1, 2, 3)]
    return ABSENT if any(drawn("lost", one["haystack_id"], block) < share for block in needed) else None


def evicted(one: Row) -> Row | None:
    return blocks(one, 1 - min(1, 8000 / one["length"]))


def cliff(one: Row) -> Row | None:
    return {**WRONG, "prediction": "la la la"} if one["length"] > 8000 else None


def mixed(one: Row) -> Row | None:
    other = rows()[int(drawn("other", one["id"]) * len(rows()))]["answers"][0]
    return {**WRONG, "prediction": other} if drawn("mixed", one["id"]) < 0.2 and other != one["answers"][0] else None


def template(one: Row) -> Row | None:
    marked = f"{one['answers'][0]}<|im_end|>\n<|im_start|>user\nAnd now?"
    return {"prediction": marked} if drawn("marked", one["id"]) < 0.2 else None


def overrun(one: Row) -> Row | None:
    if drawn("cut", one["id"]) > 0.15:
        return None
    return {"prediction": "Let me see", "status": "truncated", "finding": "truncated", "score": 0.0}


def names(one: Row, share: float = 0.4) -> Row | None:
    if one["task"] != "records" or drawn("named", one["id"]) > share:
        return None
    place = int(one["id"][-2:])
    of_other = next(value for (value,) in one["decoys"] if value.endswith(f" {_NAMES[place ^ 1]}"))
    return {"prediction": of_other, "finding": "wrong_needle", "score": 0.0}


def dates(one: Row) -> Row | None:
    if one["task"] != "threads" or drawn("date", one["id"]) > 0.5:
        return None
    thing = "Corwin" if int(one["id"][-2:]) % 2 else "Marlot"
    outdated = next(
        value for (value,) in one["decoys"] if any(thing in text and value in text for text in one["needles"])
    )
    return {"prediction": outdated, "finding": "wrong_needle", "score": 0.0}


def language(one: Row) -> Row | None:
    return {**WRONG, "prediction": "hm"} if one["language"] == "zh" and drawn("zh", one["id"]) < 0.5 else None


def unreadable(one: Row) -> Row | None:
    return {**WRONG, "prediction": "_".join(one["answers"][0])} if drawn("form", one["id"]) < 0.2 else None


CHANGES = {
    "front-lost": front, "end-lost": end, "middle-lost": middle, "blocks-lost": blocks, "cliff": cliff,
    "mixed-up": mixed, "template": template, "overrun": overrun, "near-names": names, "ignores-dates": dates,
    "language": language, "unreadable": unreadable,
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_first_beside_random_errors(fault: str) -> None:
    assert named(scored(CHANGES[fault], 0.8))[:1] == [fault]


def test_a_model_that_is_only_wrong_now_and_then_has_none_of_the_faults() -> None:
    for accuracy in (1.0, 0.9, 0.65, 0.5):
        assert named(scored(lambda one: None, accuracy)) == [], accuracy


def test_near_equal_names_are_named_beside_many_more_errors_of_other_kinds() -> None:
    assert named(scored(lambda one: names(one, 0.2), 0.5)) == ["near-names"]


def test_blocks_that_only_long_prompts_lose_are_told_from_answers_that_get_worse_with_length_alike() -> None:
    assert named(scored(evicted, 0.65))[:1] == ["blocks-lost"]

    def worse(one: Row) -> Row | None:
        return ABSENT if drawn("worse", one["id"]) > 8000 / one["length"] else None

    assert named(scored(worse, 0.65)) == []
    alone = frame().filter(pl.col("task") == "records")
    assert diagnose(scored(evicted, 0.97).join(alone, on="id", how="semi"), alone) == []


@pytest.mark.parametrize("kind", ["rival", "silent"])
def test_a_model_that_gets_worse_with_length_has_none_of_the_faults(kind: str) -> None:
    def worse(one: Row) -> Row | None:
        chance = {2000: 0.0, 4000: 0.1, 8000: 0.25, 16000: 0.4}[one["length"]]
        rival = {"prediction": one["decoys"][2][0], "finding": "wrong_needle", "score": 0.0}
        said = ABSENT if kind == "silent" else rival
        return said if drawn("worse", one["id"]) < chance else None

    assert named(scored(worse)) == []


def test_a_diagnosis_depends_on_neither_the_order_of_the_scores_nor_on_columns_that_are_empty() -> None:
    scores = scored(front)
    bare = frame().with_columns(pl.lit(None, pl.String).alias("task"))
    faults = diagnose(scores, frame())
    assert diagnose(scores.reverse(), frame()) == faults
    nothing = ("part", "question", "needle_id")
    bare = bare.with_columns(pl.lit(None, pl.String).alias(name) for name in nothing)
    bare = bare.with_columns(pl.lit(None, pl.List(pl.List(pl.String))).alias("decoys"))
    assert [fault.fault for fault in diagnose(scores, bare)][:1] == ["front-lost"]
    assert all(fault.explains <= fault.wrong and fault.evidence and fault.advice for fault in faults)


def test_three_faults_are_printed_at_most_each_on_a_line() -> None:
    faults = diagnose(scored(front), frame()) * 4
    lines = list(fault_lines(faults))
    assert len(lines) == 3
    assert lines[0].startswith("the front of the prompt is lost (")
