"""Coreference: rows ask for the i-th of k like requests of one conversation, at every depth and within budget."""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from typing import Any

import pytest
from conversations import _Read as Conversation
from conversations import read_conversation
from each import each

import niah_gen
from niah_gen.errors import FitError
from niah_gen.tasks.coreference import subjects
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Row, needle_kind
from niah_score.metrics import METRICS, target_of

DEPTHS = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
RECIPE: dict[str, Any] = {
    "name": "talks", "task": "coreference", "form": "chat", "lengths": [2000], "depths": DEPTHS,
    "options": {"like": [2, 4]},
}  # fmt: skip


def rows_of(**changes: Any) -> list[Row]:
    return list(niah_gen.iter_rows({**RECIPE, **changes}))


@pytest.fixture(scope="module", params=["chat", "text"])
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """Rows of both languages, two k and eleven depths, in one form."""
    return rows_of(form=request.param)


def by_talk(rows: list[Row]) -> dict[str, list[Row]]:
    talks: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        talks[row["haystack_id"] or ""].append(row)
    return talks


def texts_of(row: Row) -> list[str]:
    prompt = row["prompt"]
    return [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]


def talk_in(row: Any) -> Conversation:
    read = read_conversation(row)
    assert read is not None
    return read


def test_rows_of_one_k_share_a_conversation_in_which_every_request_is_made_k_times(rows: list[Row]) -> None:
    count = find_tokenizer("cl100k_base").count
    assert all(row["prompt_tokens"] == sum(map(count, texts_of(row))) <= 1800 for row in rows)
    assert len({row["prompt_sha256"] for row in rows}) == len(rows)
    talks = by_talk(rows)
    assert len(talks) == 2 * 2
    for talk in talks.values():
        assert sorted(row["depth_percent"] or 0 for row in talk) == DEPTHS
        first = talk_in(talk[0])
        assert all((talk_in(row).requests, talk_in(row).replies) == (first.requests, first.replies) for row in talk)
        like = int(needle_kind(talk[0]["needle_id"] or "").removesuffix("-like"))
        assert set(Counter(first.requests).values()) == {like}
        replies = first.replies
        assert not any(one in other for n, one in enumerate(replies) for m, other in enumerate(replies) if n != m)
        assert [row["needle_depths"][0] for row in talk if row["depth_percent"] in (0, 100)] == [0, 100]


def test_the_reference_scores_100_and_the_answer_of_another_row_scores_0(rows: list[Row]) -> None:
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        for name in ("mrcr", "mrcr_v2"):
            assert METRICS[name].judge(row["answers"][0], target_of(row)).value == 100
            assert METRICS[name].judge(other["answers"][0], target_of(row)).value == 0
        assert row["answers"] == [(row["answer_prefix"] or "") + row["needles"][0]]
        assert len(row["decoys"]) == int(str(row["needle_id"]).partition("-")[0]) - 1
        assert len(row["answer_prefix"] or "") == 12


def test_controls_quote_the_beginning_of_the_reply_or_ask_the_question_alone_once_for_each_k() -> None:
    rows = rows_of(depths=[20, 50], controls=["literal", "no_context"], languages=["zh"])
    literal = [row for row in rows if row["control"] == "literal"]
    for row in literal:
        beginning = (row["question"] or "").partition("“")[2].partition("”")[0]
        assert [reply for reply in talk_in(row).replies if reply.startswith(beginning)] == row["needles"]
    alone = [row for row in rows if row["control"] == "no_context"]
    assert [row["prompt"] for row in alone] == [[{"role": "user", "content": row["question"]}] for row in alone]
    assert (len(rows), len(literal), len(alone)) == (10, 4, 2)


def test_a_length_without_room_for_all_like_requests_is_refused() -> None:
    with pytest.raises(FitError, match="no room for 20 requests with replies from en_essays; ask for longer lengths"):
        rows_of(lengths=[500], options={"like": [20]}, languages=["en"])


@each("language", ["en", "zh"])
def test_subjects_are_distinct_combinations_of_shared_words(language: str) -> None:
    drawn = subjects(language, 100, "seed", lambda subject: 1)
    assert len(set(drawn)) == len(drawn) == 100


def replaced(row: Row, *changes: tuple[str, ...]) -> dict[str, Any]:
    """The prompt of a row with some of its texts replaced."""
    prompt = copy.deepcopy(row["prompt"])
    for old, new in changes:
        if isinstance(prompt, str):
            prompt = prompt.replace(old, new)
        else:
            for message in prompt:
                message["content"] = message["content"].replace(old, new)
    return {"prompt": prompt}
