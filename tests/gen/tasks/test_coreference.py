"""Coreference: rows ask for the i-th of k like requests of one conversation, at every depth and within budget."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from conversations import read_conversation
from each import each
from proved import prove

import niah_gen
from niah_gen.errors import FitError, RecipeError
from niah_gen.tasks.coreference import CoreferenceOptions, subject_words, subjects
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Row, needle_kind
from niah_score.metrics import METRICS, target_of

pytestmark = pytest.mark.slow

DEPTHS = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
RECIPE: dict[str, Any] = {
    "name": "talks", "task": "coreference", "form": "chat", "lengths": [1000, 4000], "depths": DEPTHS,
}  # fmt: skip


def rows_of(**changes: Any) -> list[Row]:
    return list(niah_gen.iter_rows({**RECIPE, **changes}))


@pytest.fixture(scope="module", params=["chat", "text"])
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """Rows of both languages, three k, two lengths and eleven depths, in one form."""
    return rows_of(form=request.param)


def by_talk(rows: list[Row]) -> dict[str, list[Row]]:
    talks: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        talks[row["haystack_id"] or ""].append(row)
    return talks


def texts_of(row: Row) -> list[str]:
    prompt = row["prompt"]
    return [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]


def test_prompt_tokens_are_exact_and_within_the_budget(rows: list[Row]) -> None:
    count = find_tokenizer("cl100k_base").count
    for row in rows:
        assert row["prompt_tokens"] == sum(map(count, texts_of(row)))
        assert 0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 150


def test_long_conversations_meet_their_budget_and_depth() -> None:
    for row in rows_of(lengths=[32_000, 128_000], depths=[0, 50, 100], options={"like": [4]}):
        assert 0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 150
        assert abs(row["needle_depths"][0] - (row["depth_percent"] or 0)) < 0.5


def test_rows_of_one_length_and_k_share_a_conversation_and_no_prompt_repeats(rows: list[Row]) -> None:
    talks = by_talk(rows)
    assert len(talks) == 2 * 2 * 3
    for talk in talks.values():
        assert sorted(row["depth_percent"] or 0 for row in talk) == DEPTHS
        assert len({(row["length"], row["needle_id"], row["language"]) for row in talk}) == 1
        first = read_conversation(talk[0])
        assert first is not None
        for row in talk:
            read = read_conversation(row)
            assert read is not None
            assert (read.requests, read.replies) == (first.requests, first.replies)
    assert len({row["prompt_sha256"] for row in rows}) == len(rows)


def test_every_request_is_made_k_times_with_a_different_reply_each_time(rows: list[Row]) -> None:
    for talk in by_talk(rows).values():
        read = read_conversation(talk[0])
        assert read is not None
        like = int(needle_kind(talk[0]["needle_id"] or "").removesuffix("-like"))
        assert set(Counter(read.requests).values()) == {like}
        assert not any(
            one in other for n, one in enumerate(read.replies) for m, other in enumerate(read.replies) if n != m
        )


def test_the_turn_asked_about_is_within_half_a_turn_of_its_depth(rows: list[Row]) -> None:
    for talk in by_talk(rows).values():
        read = read_conversation(talk[0])
        assert read is not None
        sizes = [len(one) + len(other) for one, other in zip(read.requests, read.replies, strict=True)]
        for row in talk:
            # Half of the longest turn, by characters, with room for turns of more tokens.
            assert abs(row["needle_depths"][0] - (row["depth_percent"] or 0)) <= 1.3 * 50 * max(sizes) / sum(sizes) + 5
        ends = [row["needle_depths"][0] for row in talk if row["depth_percent"] in (0, 100)]
        assert ends == [0, 100]


def test_the_reference_scores_100_and_the_answer_of_another_row_scores_0(rows: list[Row]) -> None:
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        for name in ("mrcr", "mrcr_v2"):
            assert METRICS[name].judge(row["answers"][0], target_of(row)).value == 100
            assert METRICS[name].judge(other["answers"][0], target_of(row)).value == 0
        assert (row["metric"], row["keywords"]) == ("mrcr", [])
        assert len(row["decoys"]) == int(str(row["needle_id"]).partition("-")[0]) - 1
        guess = METRICS["mrcr"].judge("", target_of(row)).parts["guess"]
        assert 100 / (1 + len(row["decoys"])) < guess < 80


def test_the_question_states_the_prefix_and_the_answer_is_prefix_and_reply() -> None:
    english, chinese = (rows_of(languages=[code], lengths=[1000], depths=[50])[1] for code in ("en", "zh"))
    assert (english["question"] or "").startswith(f"Prepend {english['answer_prefix']} to the ")
    assert (chinese["question"] or "").startswith(
        f"请先输出{chinese['answer_prefix']}，再紧接着一字不差地重复你在上文中写的第"
    )
    for row in (english, chinese):
        assert texts_of(row)[-1] == row["question"]
        assert row["answers"] == [(row["answer_prefix"] or "") + row["needles"][0]]
        assert texts_of(row)[row["context_message"]] == row["needles"][0]
        assert len(row["answer_prefix"] or "") == 12


def test_a_text_prompt_ends_at_the_assistants_turn() -> None:
    english, chinese = (
        str(rows_of(languages=[code], lengths=[1000], depths=[50], form="text")[0]["prompt"]) for code in ("en", "zh")
    )
    assert english.startswith("User: Write a short passage about ")
    assert english.endswith(" Do not include any other text in your response.\n\nAssistant:")
    assert chinese.startswith("用户：请写一段关于")
    assert chinese.endswith("不要输出任何其他内容。\n\n助手：")


def test_guessing_by_position_alone_scores_at_chance(rows: list[Row]) -> None:
    """The best fixed turn is right at about one depth of eleven, and a random turn even less often."""
    for talk in by_talk(rows).values():
        read = read_conversation(talk[0])
        assert read is not None
        asked = Counter(read.replies.index(row["needles"][0]) for row in talk)
        turns = len(read.replies)
        assert max(asked.values()) <= max(1, round(2 * len(DEPTHS) / turns))
        draw = random.Random(1)
        hits = sum(read.replies[draw.randrange(turns)] == row["needles"][0] for row in talk for _ in range(100))
        assert hits / (100 * len(talk)) < 3 / turns


def test_repeats_and_seeds_change_the_conversations_but_fewer_depths_do_not() -> None:
    whole = rows_of(lengths=[1000], repeats=2, languages=["en"])
    assert len(by_talk(whole)) == 2 * 3
    some = rows_of(lengths=[1000], repeats=2, languages=["en"], depths=[70, 20])
    assert {row["id"] for row in some} < {row["id"] for row in whole}
    assert not {row["id"] for row in whole} & {row["id"] for row in rows_of(lengths=[1000], seed=1, languages=["en"])}


def test_fresh_haystacks_give_each_row_its_own_conversation() -> None:
    fresh = rows_of(lengths=[1000], languages=["en"], fresh_haystacks=True, options={"like": [2]})
    assert len(by_talk(fresh)) == len(DEPTHS)


@each("form", ["chat", "text"])
def test_a_dataset_is_proved_with_controls_and_as_one_of_two_parts(tmp_path: Path, form: str) -> None:
    recipe = {
        **RECIPE, "form": form, "lengths": [1000], "depths": [0, 50, 100], "controls": ["literal", "no_context"],
        "control_depths": [50],
        "parts": [
            {"name": "talks", "task": "coreference", "options": {"like": [2, 8], "reply_tokens": 80}},
            {"name": "facts", "task": "single", "needles": ["velden-archive", "heyuan-archive"], "controls": []},
        ],
    }  # fmt: skip
    del recipe["task"]
    report = prove(niah_gen.build(recipe, tmp_path))
    assert report.problems == ()


def test_the_literal_control_quotes_the_beginning_of_the_reply() -> None:
    rows = rows_of(lengths=[1000], depths=[50], controls=["literal"])
    for row in rows:
        if row["control"]:
            read = read_conversation(row)
            assert read is not None
            beginning = (row["question"] or "").partition("“")[2].partition("”")[0]
            assert [reply for reply in read.replies if reply.startswith(beginning)] == row["needles"]
    assert sum(row["control"] == "literal" for row in rows) == len(rows) / 2


def test_no_context_asks_the_question_alone_once_for_each_k() -> None:
    rows = [row for row in rows_of(controls=["no_context"], languages=["zh"]) if row["control"]]
    assert [row["prompt"] for row in rows] == [[{"role": "user", "content": row["question"]}] for row in rows]
    assert [needle_kind(row["needle_id"] or "") for row in rows] == ["2-like", "4-like", "8-like"]
    assert {(row["haystack_tokens"], len(row["needles"])) for row in rows} == {(0, 0)}


@each("form", ["chat", "text"])
def test_budgets_are_met_with_a_tokenizer_file(tokenizer_json: Path, form: str) -> None:
    rows = rows_of(
        tokenizer=str(tokenizer_json), form=form, lengths=[3000], depths=[0, 50, 100], languages=["en"],
        options={"like": [2, 4]},
    )  # fmt: skip
    assert [0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 150 for row in rows] == [True] * len(rows)


def test_a_length_without_room_for_all_like_requests_is_refused() -> None:
    with pytest.raises(FitError, match="no room for 20 requests with replies from en_essays; ask for longer lengths"):
        rows_of(lengths=[500], options={"like": [20]}, languages=["en"])


@each(
    ("options", "expected"),
    [
        ({"like": []}, "like is []; expected different numbers"),
        ({"like": [2, 2]}, "like is [2, 2]; expected different numbers"),
        ({"like": [1]}, "like holds 1; expected 2 to 20"),
        ({"reply_tokens": 5}, "reply_tokens is 5; expected 20 to 2000"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(RecipeError) as caught:
        rows_of(options=options)
    assert expected in str(caught.value)


@each("language", ["en", "zh"])
def test_subjects_are_distinct_combinations_of_shared_words(language: str) -> None:
    first, second = subject_words(language)
    for words in (first, second):
        assert len(set(words)) == len(words) >= 75
    drawn = subjects(language, 100, "seed", lambda subject: 1)
    assert len(set(drawn)) == len(drawn) == 100
    split = [subject.split("的" if language == "zh" else " ", 1) for subject in drawn]
    assert {len({pair[place] for pair in split}) for place in (0, 1)} == {10}
    assert len(set(subjects(language, 10**6, "seed", len))) >= 5_000


def test_subjects_of_a_conversation_are_of_nearly_one_size_while_enough_exist() -> None:
    sizes = sorted(set(map(len, subjects("en", 100, "seed", len))))
    assert len(sizes) == 2
    assert sizes[1] - sizes[0] == 1
    assert len(set(map(len, subjects("en", 3_000, "seed", len)))) > 2


def test_the_default_options_are_2_4_or_8_like_requests_and_120_reply_tokens() -> None:
    assert CoreferenceOptions() == CoreferenceOptions((2, 4, 8), 120)
