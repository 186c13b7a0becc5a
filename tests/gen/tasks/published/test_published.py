"""Rows of published families: proved, the same in chats, and their own truth scores 100 alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from needlebench import write_names, write_needles
from proved import proved_rows

import niah_gen
from niah_gen.errors import NiahError
from niah_score.metrics import METRICS, target_of

# By preset: the language, and settings other than the usual ones.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"ruler-{task}": ("en", {}) for task in ("niah_single_1", "niah_multikey_3", "vt", "cwe", "fwe")},
    **{
        f"longbench-{name}": (name[-2:], {"options.rows": 4})
        for name in ("passage_retrieval_en", "passage_retrieval_zh")
    },
    "longbench-passage_count": ("en", {"options.rows": 4}),
    **{f"needlehaystack2-{name}": ("en", {}) for name in ("single", "multi", "uuid", "uuid-chain")},
    **{
        f"needlebench2-{task} {language}": (language, {"options.count": 3, "options.buffer": 300, "diff": 10})
        for task in ("single", "reasoning", "retrieval", "atc")
        for language in ("en", "zh")
    },
}
USUAL = {"lengths": [1500], "depths": [0, 50, 100], "repeats": 2}


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_are_proved_and_their_own_truth_scores_100_alone(name: str, tmp_path: Path) -> None:
    preset, _, _ = name.partition(" ")
    language, changes = FAMILIES[name]
    overrides: dict[str, Any] = {**USUAL, "corpora": ["en_essays" if language == "en" else "zh_articles"], **changes}
    if preset.startswith("needlebench2"):
        overrides |= {"options.names": str(write_names(tmp_path)), "options.needles": str(write_needles(tmp_path))}
        overrides["languages"] = [language]
    if preset.startswith("needlehaystack2"):
        overrides["controls"] = ["absent", "no_context"]
    rows = proved_rows(preset, **overrides)
    chats = list(niah_gen.iter_rows(preset, {**overrides, "form": "chat"}))
    for row, chat in zip(rows, chats, strict=True):
        assert isinstance(chat["prompt"], list)
        (message,) = chat["prompt"]
        assert isinstance(row["prompt"], list) or message == {"role": "user", "content": row["prompt"]}
        assert [message["content"][span["start"] : span["end"]] for span in chat["needle_spans"]] == row["needles"]
    asked = [(row, target_of(row), {group[0] for group in row["keywords"]}) for row in rows if row["control"] is None]
    for row, target, words in asked:
        for other, _, truth in asked:
            text = f"So it is \\boxed{{{' '.join(group[0] for group in other['keywords'])}}}."
            assert (METRICS[row["metric"]].judge(text, target).value == 100) == (words == truth)


NAMES = {"English": "Ann,Bob", "Chinese": "甲,乙"}
NEEDLE = dict.fromkeys(("needle", "retrieval_question", "arg1", "arg2"), "x")
ENTRY = {
    "id": "0101", "needle": "{CHAR} keeps {1}.", "questions": {"onehop": "Who has {2}?"}, "character_set": ["Wenna"],
    "tests": {"T1": {"input_args": ["a goose", "a bird"]}},
}  # fmt: skip
LINE = {"input": "An abstract.", "context": "Paragraph 1: x", "answers": ["Paragraph 1"], "dataset": "passage_count"}


class Lines(str):
    """What a file holds that an option names."""


def lines(*values: Any) -> Lines:
    """A line of JSON for each value; one is a JSON file too."""
    return Lines("".join(f"{json.dumps(value)}\n" for value in values))


# A preset or family, its options, and what is wrong with them.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("ruler-vt", {"task": "vd"}, "task is 'vd'; expected one of"),
    ("ruler-qa_2", {}, "task 'qa_2' needs hotpot_dev_distractor_v1.json; give it with --set options.questions=PATH"),
    ("ruler-qa_1", {"questions": "no.json"}, "file 'no.json': no such file"),
    ("ruler-cwe", {"length": 131_072}, "need its file english_words.json"),
    ("ruler-niah_single_1", {"length": 200}, "RULER's smallest prompt, of 5 units"),
    ("longbench-passage_count", {"paragraphs": 1}, "paragraphs is 1; expected 2 to 1000"),
    ("longbench-file", {"file": lines(LINE), "dataset": "qasper"}, "expected one of passage_retrieval_en"),
    ("longbench-file", {"file": lines({**LINE, "dataset": "x"})}, "file:1: dataset is 'x'; expected 'passage_count'"),
    ("needlehaystack2-uuid-chain", {"chain_length": 1}, "options: chain_length is 1; expected 2 to 1000"),
    ("needlebench2-single", {"position": "middle"}, "options: position is 'middle'; expected one of end, start"),
    ("needlebench2-atc", {}, "options.names: expected the path of NeedleBench's names.json"),
    ("needlebench2-atc", {"names": lines(NAMES), "count": 20}, "20 facts need 21 names; options.names has 2"),
    ("needlebench2-single", {"needles": lines({**NEEDLE, "language": "French"})}, "language is 'French'; expected"),
    ("needlebench2-retrieval", {"needles": lines({**NEEDLE, "language": "English"})}, "1 'en' lines differ in arg1"),
    ("nolima", {"needle_set": lines([ENTRY, ENTRY])}, "entry 2: '0101_T1_onehop' occurs twice"),
    ("nolima", {"needle_set": lines([{**ENTRY, "character_set": None}])}, "test 'T1': it has no gold_answers"),
    ("nolima", {"needle_set": lines([{**ENTRY, "task_template": "{haystack}."}])}, "expected it to have {quest"),
]  # fmt: skip


def test_options_and_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    for number, (name, options, problem) in enumerate(REFUSED):
        length = options.get("length", 1500)
        asked: dict[str, Any] = {"languages": ["en"], "corpora": ["en_essays"], "lengths": [length]}
        for option, value in options.items():
            if isinstance(value, Lines):
                file = tmp_path / str(number) / "file"
                file.parent.mkdir()
                file.write_text(value)
                value = str(file)
            if option != "length":
                asked[f"options.{option}"] = value
        recipe = {"name": "own", "task": name, "options": {"dataset": "passage_count", "file": "file"}}
        with pytest.raises(NiahError) as caught:
            list(niah_gen.iter_rows(recipe if name == "longbench-file" else name, asked))
        assert problem in str(caught.value)
