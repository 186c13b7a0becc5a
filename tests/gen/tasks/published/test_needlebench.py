"""NeedleBench v2's tasks: recorded prompts reproduced byte for byte, and rows proved from their own text."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from each import each
from needlebench import write_names, write_needles
from proved import prove
from recipes import problems

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.tasks.published.needlebench import ATC_KINDS, fill
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


@each("language", ["en", "zh"])
@each("task", TASKS)
def test_rows_are_proved_in_both_forms_and_score_100_for_their_own_truth_alone(
    task: str, language: str, own: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(own["options.names"]).parent)  # where names.json and needles.jsonl are looked up again
    overrides = {
        **own, "lengths": [1500], "depths": [0, 50, 100], "repeats": 2, "languages": [language], "diff": 10,
        "corpora": [CORPORA[language]], "options.count": 3, "options.buffer": 300,
    }  # fmt: skip
    folder = niah_gen.build(f"needlebench2-{task}", tmp_path / "out", overrides=overrides)
    proof = prove(folder)
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    rows = rows_of(task, own, language, repeats=3, depths=[0, 50])
    for row, chat in zip(rows, rows_of(task, own, language, repeats=3, depths=[0, 50], form="chat"), strict=True):
        assert chat["prompt"] == [{"role": "user", "content": row["prompt"]}]
        assert (chat["needle_spans"], chat["context_message"]) == (row["needle_spans"], 0)
        other = next((known for known in rows if known["answers"] != row["answers"]), row)
        truth, wrong = (" ".join(group[0] for group in known["keywords"]) for known in (row, other))
        judge = METRICS[row["metric"]].judge
        assert judge(f"So it is \\boxed{{{truth}}}.", target_of(row)).value == 100
        if task in ("single", "reasoning"):
            assert judge(f"\\boxed{{{wrong}}}", target_of(row)).value == 0


def test_the_ancestral_trace_challenge_asks_each_kind_in_turn_and_has_no_length(own: dict[str, Any]) -> None:
    counts: dict[str, Any] = {"options.count": [2, 5]}
    rows = rows_of("atc", own, **counts)
    assert [needle_kind(row["needle_id"] or "") for row in rows] == [
        f"{kind}-{n}" for n in (2, 5) for kind in ATC_KINDS for _ in range(2)
    ]
    assert [row["repeat"] for row in rows] == [0, 1] * 8
    for row in rows:
        assert (row["length"], row["depth_percent"], row["haystack_tokens"]) == (None, None, 0)
        assert (row["question"] or "") in text_of(row)
        assert "".join(row["needles"]) in text_of(row)
        assert not any(f"{{{name}}}" in text_of(row) for name in ("person", "person_a", "n", "last_person"))
    other = rows_of("atc", own, lengths=[64_000], depths=[7], **counts)
    assert [row["prompt"] for row in rows] == [row["prompt"] for row in other]


def test_retrieval_has_a_needle_at_each_depth_of_one_prompt(own: dict[str, Any]) -> None:
    rows = rows_of("retrieval", own, depths=[0, 25, 50, 100])
    assert [(row["depth_percent"], row["repeat"]) for row in rows] == [(None, 0), (None, 1)]
    for row in rows:
        assert row["needle_depths"] == pytest.approx([0, 25, 50, 100], abs=0.1)
        starts = [span["start"] for span in row["needle_spans"]]
        assert starts == sorted(starts)
        assert len(row["keywords"]) == 4
    # Each repeat has the same needles in its own order.
    assert sorted(rows[0]["needles"]) == sorted(rows[1]["needles"])
    assert rows[0]["needles"] != rows[1]["needles"]
    overrides = {**own, "lengths": [2000], "repeats": 1, "languages": ["en"], "corpora": ["en_essays"]}
    (row,) = niah_gen.iter_rows("needlebench2-retrieval", overrides)
    assert row["needle_depths"] == pytest.approx(list(range(0, 101, 10)), abs=0.1)


@each("language", ["en", "zh"])
@each("task", ["single", "retrieval"])
def test_the_question_can_come_before_the_document(task: str, language: str, own: dict[str, Any]) -> None:
    start: dict[str, Any] = {"options.position": "start"}
    for row in rows_of(task, own, language, **start):
        assert text_of(row).index(row["question"] or "") < row["needle_spans"][0]["start"]
        assert text_of(row).endswith("</文档>\n\n" if language == "zh" else "</Document>\n\n")


def test_a_buffer_above_the_length_leaves_no_haystack_as_published(own: dict[str, Any]) -> None:
    above: dict[str, Any] = {"options.buffer": 3000}
    rows = rows_of("single", own, lengths=[1000], **above)
    assert {row["haystack_tokens"] for row in rows} == {0}
    assert len({row["prompt"] for row in rows if row["repeat"] == 0}) == 1


def test_braces_of_latex_and_of_values_are_left_alone() -> None:
    assert fill(r"\boxed{5} {a} {b}", {"a": "{b}", "b": "x"}) == r"\boxed{5} {b} x"


def test_invalid_options_and_too_few_names_or_needles_are_reported(own: dict[str, Any]) -> None:
    for task, overrides, problem in (
        ("atc", {"options.count": 0}, "options: count is 0; expected numbers of facts from 1 to 10000, none twice"),
        ("atc", {"options.count": [2, 2]},
            "options: count is (2, 2); expected numbers of facts from 1 to 10000, none twice"),
        ("single", {"options.buffer": -1}, "options: buffer is -1; expected 0 tokens or more"),
        ("single", {"options.position": "middle"}, "options: position is 'middle'; expected end or start"),
        ("reasoning", {"options.position": "start"},
            "options: position is 'start', but only the single and retrieval tasks can ask there"),
        ("atc", {"options.names": "no"}, "options.names: file 'no': no such file"),
    ):  # fmt: skip
        reported = problems(f"needlebench2-{task}", {**own, "corpora": ["en_essays"], **overrides})
        assert any(known.startswith(problem) for known in reported)
    changes: dict[str, Any]
    for task, changes, problem in (
        ("single", {"options.needles": None}, "options.needles: expected the path of NeedleBench's needles.jsonl"),
        ("atc", {"options.names": None}, "options.names: expected the path of NeedleBench's names.json"),
        ("atc", {"options.count": 2000}, "options.count: 2000 facts need 2001 names; options.names has 1200"),
        ("retrieval", {"depths": list(range(0, 101, 5))}, "12 'en' lines differ in arg1 and arg2, too few for 21"),
    ):
        with pytest.raises(RecipeError, match=problem):
            rows_of(task, own, **changes)


def test_invalid_files_are_reported_with_the_line(own: dict[str, Any]) -> None:
    names, needles = Path(own["options.names"]), Path(own["options.needles"])
    line = json.loads(needles.read_text("utf-8").splitlines()[0])
    for task, file, text, problem in (
        ("atc", names, "{", "options.names: names.json: not JSON in UTF-8"),
        ("atc", names, "[]", "options.names: names.json: expected an object with English; found []"),
        ("atc", names, '{"English": ["Ann"]}', "English is ['Ann']; expected a text"),
        ("single", needles, "", "options.needles: no line is in 'en'"),
        ("single", needles, "\n{\n", "options.needles: needles.jsonl:2: not JSON"),
        ("single", needles, '{"needle": "x"}', "needles.jsonl:1: retrieval_question is None; expected a text"),
        ("single", needles, json.dumps({**line, "language": "French"}),
            "needles.jsonl:1: language is 'French'; expected English or Chinese"),
    ):  # fmt: skip
        file.write_text(text, "utf-8")
        with pytest.raises(RecipeError) as caught:
            rows_of(task, own)
        assert problem in str(caught.value)
