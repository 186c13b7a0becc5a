"""NeedleBench v2's tasks: recorded prompts reproduced byte for byte, and rows proved from their own text."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, cast

import pytest
from needlebench import write_names, write_needles
from of_families import ROWS
from proved import prove
from recipes import problems

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.tasks.records import Item
from niah_score.contract import Row, needle_kind
from niah_score.metrics import METRICS, target_of

TASKS = ("single", "reasoning", "retrieval", "atc")
KINDS = {"atc": "atc", "single": "single", "multi_reasoning": "reasoning", "multi_retrieval": "retrieval"}
CODES = {"English": "en", "Chinese": "zh"}
CORPORA = {"en": "en_essays", "zh": "zh_articles/zh_finance"}


@pytest.fixture
def own(tmp_path: Path) -> dict[str, Any]:
    """The options that name the user's two files."""
    return {"options.names": str(write_names(tmp_path)), "options.needles": str(write_needles(tmp_path))}


def rows_of(task: str, own: dict[str, Any], language: str = "en", **changes: Any) -> list[Row]:
    overrides: dict[str, Any] = {
        **own, "lengths": [2000], "depths": [0, 50, 100], "repeats": 2, "languages": [language], "options.count": 3,
        "corpora": [CORPORA[language]], **changes,
    }  # fmt: skip
    return list(niah_gen.iter_rows(f"needlebench2-{task}", overrides))


def text_of(row: Row) -> str:
    assert isinstance(row["prompt"], str)
    return row["prompt"]


@pytest.mark.slow
def test_every_recorded_prompt_is_reproduced(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIAH_CORPORA", str(shared / "corpora"))
    lines = (shared / "golden" / "needlebench_v2_prompts.jsonl").read_text("utf-8").splitlines()
    stub = shared / "golden" / "needlebench_stub_needles.jsonl"
    recorded = [json.loads(line) for line in lines[1:]]
    assert write_needles(tmp_path).read_bytes() == stub.read_bytes()
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in recorded:
        sizes = (line.get(name) for name in ("length", "num_needles", "length_buffer"))
        groups[(line["kind"], CODES[line["language"]], *sizes)].append(line)
    checked = 0
    for (kind, language, length, count, buffer), members in groups.items():
        changes: dict[str, Any] = {
            "options.names": str(write_names(tmp_path)), "options.needles": str(stub), "languages": [language],
            "corpora": ["paul_graham" if language == "en" else "cdme/zh_finance"], "repeats": 3,
            "options.count": count, "options.buffer": buffer, "lengths": length,
            "depths": [0, 50, 100] if kind in ("single", "multi_reasoning") else None,
        }  # fmt: skip
        asked = {name: value for name, value in changes.items() if value is not None}
        rows = list(niah_gen.iter_rows(f"needlebench2-{KINDS[kind]}", asked))
        for line in members:
            if kind == "atc":
                row = rows[line["row"]]
            else:
                place = (line["repeat"], line.get("depth"))
                (row,) = (row for row in rows if (row["repeat"], row["depth_percent"]) == place)
            assert hashlib.sha256(text_of(row).encode()).hexdigest() == line["prompt_sha256"], line
            assert row["prompt_tokens"] == line["tokens"]
            assert [group[0] for group in row["keywords"]] == outputs_of(line)
            checked += 1
    assert checked == len(recorded) == 94


def outputs_of(line: dict[str, Any]) -> list[str]:
    """The texts that an answer must contain, unpacked from a published row."""
    packed = str(line["answer"]).partition("#")[0].split("*")
    return packed[1:] if line["kind"] == "single" else packed


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("task", TASKS)
def test_rows_of_every_task_with_non_default_options_are_proved_and_rebuilt(
    task: str, language: str, own: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where names.json and needles.jsonl are looked up again
    overrides = {
        **own, "lengths": [1500], "depths": [0, 50, 100], "repeats": 2, "languages": [language], "diff": 10,
        "corpora": [CORPORA[language]], "options.count": 3, "options.buffer": 300,
    }  # fmt: skip
    folder = niah_gen.build(f"needlebench2-{task}", tmp_path / "out", overrides=overrides)
    proof = prove(folder)
    assert (proof.problems, proof.not_rebuilt) == ((), None)


def test_the_ancestral_trace_challenge_asks_each_kind_in_turn_and_has_no_length(own: dict[str, Any]) -> None:
    rows = rows_of("atc", own, repeats=2, **cast(dict[str, Any], {"options.count": [2, 5]}))
    kinds = ("eldest", "ancestor", "descendant", "distance")
    assert [needle_kind(row["needle_id"] or "") for row in rows] == [
        f"{kind}-{n}" for n in (2, 5) for kind in kinds for _ in range(2)
    ]
    assert [row["repeat"] for row in rows] == [0, 1] * 8
    assert {(row["length"], row["depth_percent"], row["haystack_tokens"]) for row in rows} == {(None, None, 0)}
    other: dict[str, Any] = {"lengths": [64_000], "depths": [7], "options.count": [2, 5]}
    assert [row["prompt"] for row in rows] == [row["prompt"] for row in rows_of("atc", own, **other)]


def test_retrieval_has_a_needle_at_each_depth_of_one_prompt(own: dict[str, Any]) -> None:
    rows = rows_of("retrieval", own, depths=[0, 25, 50, 100])
    assert [(row["depth_percent"], row["repeat"]) for row in rows] == [(None, 0), (None, 1)]
    for row in rows:
        assert row["needle_depths"] == pytest.approx([0, 25, 50, 100], abs=0.1)
        starts = [span["start"] for span in row["needle_spans"]]
        assert starts == sorted(starts)
        assert len(row["keywords"]) == 4
    assert sorted(rows[0]["needles"]) == sorted(rows[1]["needles"])
    assert rows[0]["needles"] != rows[1]["needles"]


def test_retrieval_has_eleven_depths_by_default(own: dict[str, Any]) -> None:
    overrides = {**own, "lengths": [2000], "repeats": 1, "languages": ["en"], "corpora": ["en_essays"]}
    (row,) = niah_gen.iter_rows("needlebench2-retrieval", overrides)
    assert row["needle_depths"] == pytest.approx(list(range(0, 101, 10)), abs=0.1)


@pytest.mark.parametrize("task", ["single", "retrieval"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_question_can_come_before_the_document(task: str, language: str, own: dict[str, Any]) -> None:
    for row in rows_of(task, own, language, **cast(dict[str, Any], {"options.position": "start"})):
        assert text_of(row).index(row["question"] or "") < row["needle_spans"][0]["start"]
        assert text_of(row).endswith("</文档>\n\n" if language == "zh" else "</Document>\n\n")


@pytest.mark.parametrize("task", TASKS)
def test_a_chat_is_the_same_prompt_as_one_message(task: str, own: dict[str, Any]) -> None:
    for row, chat in zip(rows_of(task, own), rows_of(task, own, form="chat"), strict=True):
        assert chat["prompt"] == [{"role": "user", "content": row["prompt"]}]
        assert (chat["needle_spans"], chat["context_message"]) == (row["needle_spans"], 0)


def test_a_buffer_above_the_length_leaves_no_haystack_as_published(own: dict[str, Any]) -> None:
    rows = rows_of("single", own, lengths=[1000], **cast(dict[str, Any], {"options.buffer": 3000}))
    assert {row["haystack_tokens"] for row in rows} == {0}
    assert len({row["prompt"] for row in rows if row["repeat"] == 0}) == 1


@pytest.mark.parametrize("task", TASKS)
def test_copying_the_truth_scores_100_and_copying_another_rows_truth_does_not(task: str, own: dict[str, Any]) -> None:
    rows = rows_of(task, own, repeats=3, depths=[0, 50])
    answers = {tuple(row["answers"]): row for row in rows}
    for row in rows:
        truth = " ".join(group[0] for group in row["keywords"])
        boxed = f"So it is \\boxed{{{truth}}}." if row["metric"] == "needlebench_boxed" else truth
        assert METRICS[row["metric"]].judge(boxed, target_of(row)).value == 100
        if task in ("single", "reasoning"):
            other = next(known for known in answers.values() if known["answers"] != row["answers"])
            wrong = " ".join(group[0] for group in other["keywords"])
            assert METRICS[row["metric"]].judge(f"\\boxed{{{wrong}}}", target_of(row)).value == 0


def item_of(row: Row) -> Item:
    return Item(needle_kind(row["needle_id"] or ""), row["language"], None, tuple(row["answers"]), (), row["metric"])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("task", ["reasoning", "atc"])
def test_damaged_facts_answers_or_questions_about_relatives_are_refused(
    task: str, language: str, own: dict[str, Any]
) -> None:
    check = ROWS[f"needlebench2-{task}"]
    for row in rows_of(task, own, language, **cast(dict[str, Any], {"options.count": 4})):
        assert list(check(row, item_of(row))) == []
        (problem,) = check(Row(**{**row, "answers": ["Nobody"]}), item_of(row))
        assert "the facts lead to" in problem
        for place in range(4):
            left = [needle for number, needle in enumerate(row["needles"]) if number != place]
            assert list(check(Row(**{**row, "needles": left}), item_of(row)))
        torn = [*row["needles"][:-1], "Nobody is here."]
        assert "states no relative" in next(check(Row(**{**row, "needles": torn}), item_of(row)))
        other = Row(**{**row, "question": "Who?"})
        assert "the prompt does not ask 'Who?'" in next(check(other, item_of(row)))


def test_a_keyword_that_no_needle_states_is_refused(own: dict[str, Any]) -> None:
    check = ROWS["needlebench2-retrieval"]
    row = rows_of("retrieval", own)[0]
    changed = Row(**{**row, "keywords": [*row["keywords"][:-1], ["Item99"]]})
    assert list(check(row, item_of(row))) == []
    assert list(check(changed, item_of(row))) == ["keyword 'Item99' is not in needle 3"]
    fewer = Row(**{**row, "keywords": row["keywords"][:-1]})
    assert "2 keyword groups for 3 needles" in next(check(fewer, item_of(row)))


def test_a_missing_or_unnamed_file_is_reported(own: dict[str, Any], tmp_path: Path) -> None:
    for task, option, file in (("single", "needles", "needles.jsonl"), ("atc", "names", "names.json")):
        asked = {name: value for name, value in own.items() if name != f"options.{option}"}
        with pytest.raises(
            RecipeError, match=re.escape(f"options.{option}: expected the path of NeedleBench's {file}")
        ):
            rows_of(task, asked)
        (problem,) = problems(
            f"needlebench2-{task}", {f"options.{option}": str(tmp_path / "no"), "corpora": ["en_essays"]}
        )
        assert problem.startswith(f"options.{option}: file ")


def test_invalid_options_and_too_few_names_or_needles_are_reported(own: dict[str, Any]) -> None:
    for task, overrides, problem in (
        ("atc", {"options.count": 0}, "options: count is 0; expected numbers of facts from 1 to 10000, none twice"),
        ("atc", {"options.count": [2, 2]},
            "options: count is (2, 2); expected numbers of facts from 1 to 10000, none twice"),
        ("single", {"options.buffer": -1}, "options: buffer is -1; expected 0 tokens or more"),
        ("single", {"options.position": "middle"}, "options: position is 'middle'; expected end or start"),
        ("reasoning", {"options.position": "start"},
            "options: position is 'start', but only the single and retrieval tasks can ask there"),
    ):  # fmt: skip
        assert problem in problems(f"needlebench2-{task}", {**own, "corpora": ["en_essays"], **overrides})
    with pytest.raises(RecipeError, match=r"options\.count: 2000 facts need 2001 names; options\.names has 1200"):
        rows_of("atc", own, **cast(dict[str, Any], {"options.count": 2000}))
    with pytest.raises(RecipeError, match="12 'en' lines differ in arg1 and arg2, too few for 21 depths"):
        rows_of("retrieval", own, depths=list(range(0, 101, 5)))
