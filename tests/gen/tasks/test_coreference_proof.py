"""The proof of coreference rows: every claim of a row that its conversation contradicts is named."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import pytest
from conversations import check_coreference, read_conversation
from each import each

import niah_gen
from niah_gen.tasks.records import Item

pytestmark = pytest.mark.slow

RowDict = dict[str, Any]


@pytest.fixture(scope="module", params=[("chat", "en"), ("chat", "zh"), ("text", "en"), ("text", "zh")])
def row(request: pytest.FixtureRequest) -> RowDict:
    """A row that asks about the middle of a conversation with four like requests."""
    form, language = request.param
    recipe = {
        "name": "talks", "task": "coreference", "form": form, "lengths": [2000], "depths": [50],
        "languages": [language], "options": {"like": [4]},
    }  # fmt: skip
    (only,) = niah_gen.iter_rows(recipe)
    return cast(RowDict, only)


def problems_of(row: RowDict) -> list[str]:
    """The problems that the family finds in a row; its item plays no part."""
    return list(check_coreference(cast(Any, row), cast(Item, None)))


def replaced(row: RowDict, old: str, new: str, times: int = -1) -> RowDict:
    """A copy of a row with a text of its prompt replaced."""
    changed = copy.deepcopy(row)
    if isinstance(changed["prompt"], str):
        changed["prompt"] = changed["prompt"].replace(old, new, times)
    else:
        for message in changed["prompt"]:
            message["content"] = message["content"].replace(old, new, times)
    return changed


def like_replies(row: RowDict) -> list[str]:
    read = read_conversation(cast(Any, row))
    assert read is not None
    asked = read.requests[read.replies.index(row["needles"][0])]
    return [reply for request, reply in zip(read.requests, read.replies, strict=True) if request == asked]


def test_an_unchanged_row_has_no_problems(row: RowDict) -> None:
    assert problems_of(row) == []


def test_another_like_reply_as_the_needle_is_refused(row: RowDict) -> None:
    other = next(reply for reply in like_replies(row) if reply != row["needles"][0])
    changed = {**row, "needles": [other], "answers": [row["answer_prefix"] + other]}
    assert any("the needle is another" in problem for problem in problems_of(changed))
    assert any("answers: expected the prefix and the reply" in problem for problem in problems_of(changed))


@each(
    ("change", "expected"),
    [
        (lambda row: {"answers": [row["answer_prefix"] + " " + row["needles"][0]]}, "with nothing between"),
        (lambda row: {"answer_prefix": "AAAABBBBCCCC"}, "answer_prefix is 'AAAABBBBCCCC'"),
        (lambda row: {"metric": "exact"}, "metric is 'exact'"),
        (lambda row: {"question": "Which?"}, "no subject and number can be read"),
        (lambda row: {"needle_id": "3-like"}, "is made 4 times, expected 3"),
        (lambda row: {"haystack_id": "0" * 12}, "haystack_id is '000000000000'"),
        (lambda row: {"haystack_tokens": row["haystack_tokens"] + 1}, "of the other turns"),
        (lambda row: {"needle_depths": [row["needle_depths"][0] + 0.1]}, "needle_depths are"),
        (lambda row: {"depth_percent": 0.0}, "another one is nearer to 0 %"),
    ],
)
def test_a_wrong_column_is_named(row: RowDict, change: Callable[[RowDict], RowDict], expected: str) -> None:
    assert any(expected in problem for problem in problems_of({**row, **change(row)}))


def test_a_question_about_another_like_reply_is_refused(row: RowDict) -> None:
    like = like_replies(row)
    place = like.index(row["needles"][0]) + 1
    first, second = (
        (f"第{place}段", f"第{place % 4 + 1}段") if row["language"] == "zh" else (f" {place}", f" {place % 4 + 1}")
    )
    assert any(
        "the needle is another" in problem
        for problem in problems_of({**row, "question": row["question"].replace(first, second)})
    )


def test_a_conversation_with_two_like_replies_swapped_is_refused(row: RowDict) -> None:
    one, other = like_replies(row)[:2]
    changed = replaced(replaced(replaced(row, one, "@@"), other, one), "@@", other)
    if row["needles"][0] in (one, other):
        assert any("the needle is another" in problem for problem in problems_of(changed))
    else:
        assert any("haystack_id" in problem for problem in problems_of(changed))


def test_a_reply_that_occurs_twice_is_refused(row: RowDict) -> None:
    read = read_conversation(cast(Any, row))
    assert read is not None
    other = next(reply for reply in read.replies if reply not in like_replies(row))
    changed = replaced(row, other, row["needles"][0])
    assert any("does not occur exactly once" in problem for problem in problems_of(changed))


def test_a_request_made_too_often_is_refused(row: RowDict) -> None:
    read = read_conversation(cast(Any, row))
    assert read is not None
    one, other = sorted(set(read.requests))[:2]
    assert any("is made" in problem for problem in problems_of(replaced(row, one, other)))


def test_a_prefix_that_occurs_in_the_conversation_is_refused(row: RowDict) -> None:
    reply = next(reply for reply in like_replies(row) if reply != row["needles"][0])
    assert any(
        "occurs in the conversation" in one for one in problems_of(replaced(row, reply, reply + row["answer_prefix"]))
    )


def test_a_prompt_that_is_not_a_conversation_is_refused(row: RowDict) -> None:
    changed = {**row, "prompt": row["prompt"][:-1] if isinstance(row["prompt"], list) else row["question"]}
    assert problems_of(changed) == [
        "the prompt is not a conversation of requests and replies that ends with the question"
    ]
