"""Questions of external sets: from the file through the dataset folder to the score, whole, cut and in filler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from each import each
from proved import prove, wrong_rows
from question_sets import SETS, rows_of_set, sample_documents, write_set

import niah_gen
from niah_gen.errors import NiahError
from niah_gen.recipe.read import load_recipe
from niah_score.contract import ROW_ID, sha256_hex
from niah_score.metrics import METRICS, target_of


def set_file(folder: Path, name: str, language: str = "en", suffix: str = ".jsonl") -> Path:
    return write_set(folder / f"{name}-{language}{suffix}", rows_of_set(name, language))


def recipe_of(file: Path, changes: Mapping[str, Any] | None = None, **options: object) -> niah_gen.Recipe:
    overrides = {f"options.{option}": value for option, value in options.items()}
    return load_recipe("questions", {"options.file": str(file), **overrides, **(changes or {})})


def rows_of(file: Path, changes: Mapping[str, Any] | None = None, **options: object) -> list[Any]:
    recipe = recipe_of(file, changes, **options)
    rows = list(niah_gen.iter_rows(recipe))
    assert wrong_rows(recipe, rows) == []
    return rows


def text_of(row: Mapping[str, Any]) -> str:
    return str(row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][-1]["content"])


def judged(row: Any, answer: str) -> float:
    return METRICS[row["metric"]].judge(answer, target_of(row)).value or 0.0


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SETS)
def test_whole_documents_are_proved_and_scored_100_for_the_truth_alone(
    name: str, language: str, tmp_path: Path
) -> None:
    form = "chat" if (SETS.index(name) % 2 == 0) == (language == "zh") else "text"
    rows = rows_of(set_file(tmp_path, name, language), {"form": form})
    assert len(rows) == (20 if name == "l-eval" else 10)
    for row in rows:
        assert (row["length"], row["depth_percent"], row["corpus"]) == (None, None, "questions")
        assert sum(text_of(row).count(one.document) for one in sample_documents(language)) == 1
        assert judged(row, row["answers"][0]) == pytest.approx(100.0)
    others = zip(rows, (*rows[2:], *rows[:2]), strict=True)
    assert sum(judged(row, other["answers"][-1]) for row, other in others) / len(rows) <= 25


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["plain", "longbench-v2", "babilong"])
def test_cut_documents_stay_within_their_budget_and_near_it(name: str, language: str, tmp_path: Path) -> None:
    for cut in ("head", "tail", "middle"):
        for row in rows_of(set_file(tmp_path, name, language), {"lengths": [700]}, cut=cut):
            assert 0 <= 500 - row["prompt_tokens"] <= 160  # too little room for the next sentence
            assert not any(one.document in row["prompt"] for one in sample_documents(language))
            assert [row["prompt"].count(needle) for needle in row["needles"]] == [1] * len(row["needles"])


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
@each(("pad", "length"), [("evidence", 2000), ("document", 8000)])
def test_padded_passages_are_near_the_requested_depth(language: str, pad: str, length: int, tmp_path: Path) -> None:
    changes = {"lengths": [length], "depths": [0, 50, 100], "form": "chat"}
    for row in rows_of(set_file(tmp_path, "plain", language), changes, pad=pad):
        assert abs(row["needle_depths"][0] - row["depth_percent"]) <= 5
        one = sample_documents(language)[int(row["needle_id"].removeprefix("q")) - 1]
        assert row["needles"] == [one.evidence if pad == "evidence" else one.document]


def test_passages_are_at_their_spans_whatever_their_order_in_the_file(tmp_path: Path) -> None:
    passages = ["Ida Holt lit the lamp.", "The harbour froze."]
    document = f"It rained. {passages[0]} The fair was late. {passages[1]} Nobody came."
    row = {"document": document, "question": "Who?", "answers": ["Ida"], "evidence": passages[::-1]}
    (built,) = rows_of(write_set(tmp_path / "own.jsonl", [row]))
    assert built["needles"] == passages
    assert [text_of(built)[span["start"] : span["end"]] for span in built["needle_spans"]] == passages


def test_a_document_stays_whole_if_it_fits_and_the_control_is_the_question_alone(tmp_path: Path) -> None:
    rows = rows_of(set_file(tmp_path, "plain"), {"lengths": [16000], "controls": ["no_context"]})
    asked, alone = ([row for row in rows if row["control"] == control] for control in (None, "no_context"))
    assert all(one.document in text_of(row) for one, row in zip(sample_documents("en"), asked, strict=True))
    assert [text_of(row) for row in alone] == [f"{row['question']}\n" for row in asked]


def test_the_recognised_form_is_announced_and_a_dataset_is_proved_by_the_name_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    recipe = load_recipe("questions", {"options.file": str(set_file(tmp_path, "lv-eval"))}, notice=notices.append)
    assert notices == ["lv-eval-en.jsonl: LV-Eval's form, 10 in en"]
    folder = niah_gen.build(recipe, tmp_path / "out")
    options = load_recipe(folder / "recipe.toml", here=False).parts[0].options
    assert (options["form"], options["file"]) == ("lv-eval", "lv-eval-en.jsonl")
    assert str(tmp_path) not in (folder / "recipe.toml").read_text()
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path))
    assert (prove(folder).problems, prove(folder).not_rebuilt) == ((), None)


def test_options_choose_the_questions_and_their_metric(tmp_path: Path) -> None:
    file = set_file(tmp_path, "plain")
    rows = rows_of(file, rows=3, metric="exact")
    assert [(row["needle_id"], row["metric"]) for row in rows] == [("q1", "exact"), ("q2", "exact"), ("q3", "exact")]
    size = sorted(len(one.document) for one in sample_documents("en"))[4]
    notices: list[str] = []
    recipe = load_recipe("questions", {"options.file": str(file), "options.longest": size}, notice=notices.append)
    assert len(list(niah_gen.iter_rows(recipe))) == 5
    assert notices[1] == f"plain-en.jsonl: left out 5 questions about documents of more than {size} characters"


def test_needle_ids_are_the_files_own_ids_or_question_numbers_and_row_ids_are_plain(tmp_path: Path) -> None:
    assert [row["needle_id"] for row in rows_of(set_file(tmp_path, "l-eval"))][:3] == ["q1-1", "q1-2", "q2-1"]
    rows = [{**row, "id": f"灯 {number}/é?"} for number, row in enumerate(rows_of_set("plain", "en"))]
    built = rows_of(write_set(tmp_path / "odd.jsonl", rows), {"lengths": [700]})
    assert [row["needle_id"] for row in built] == [row["id"] for row in rows]
    assert all(ROW_ID.fullmatch(row["id"]) for row in built)


def test_the_lv_eval_template_makes_its_published_prompt(tmp_path: Path) -> None:
    one, row = sample_documents("en")[0], rows_of(set_file(tmp_path, "lv-eval"), {"template": "lv-eval"})[0]
    assert text_of(row) == (
        f"Please answer the following questions based on the given article.\n\nArticle: {one.document}\n\n"
        "Please answer the following questions based on the above article.\n\n"
        f"Question: {one.question}\nAnswer:"
    )


def walks() -> list[dict[str, Any]]:
    """Rows in the columns of openai/graphwalks, the last one with an empty answer."""
    asked: Any = (
        ("parents", "Find the parents of node a.", ["b"]),
        ("bfs", "Perform a BFS.", ["a"]),
        ("parents", "-", []),
    )
    return [
        {
            "prompt": f"Example:\nOperation:\nNo.\n\nb -> a\nb -> c{n}\n\n\nOperation:\n{operation}\n\nYou should \n",
            "answer_nodes": nodes, "prompt_chars": 100, "problem_type": kind, "date_added": "02-27-2026",
        }
        for n, (kind, operation, nodes) in enumerate(asked)
    ]  # fmt: skip


@each("form", ["text", "chat"])
@each("suffix", [".jsonl", ".parquet"])
def test_rows_of_graphwalks_are_its_prompts_byte_for_byte(form: str, suffix: str, tmp_path: Path) -> None:
    file = write_set(tmp_path / f"walks{suffix}", walks())
    recipe = load_recipe("openai-graphwalks", {"options.file": str(file), "form": form})
    rows = list(niah_gen.iter_rows(recipe))
    assert wrong_rows(recipe, rows) == []
    assert [text_of(row) for row in rows] == [given["prompt"] for given in walks()]
    assert [row["needle_id"] for row in rows] == ["parents#0-1", "bfs#0-2", "parents#0-3"]
    assert [row["answers"] for row in rows] == [["Final Answer: [b]"], ["Final Answer: [a]"], ["Final Answer: []"]]
    assert [[judged(row, other["answers"][0]) for other in rows] for row in rows] == [
        [100, 0, 0], [0, 100, 0], [0, 0, 100],
    ]  # fmt: skip


def test_rows_of_graphwalks_are_never_cut_hidden_or_put_into_another_prompt(tmp_path: Path) -> None:
    long = {**walks()[0], "prompt": "b -> d\n" * 999 + walks()[0]["prompt"]}
    file = write_set(tmp_path / "walks.jsonl", [*walks(), long])
    with pytest.raises(NiahError, match="template: 'questions', but these options of task 'questions' need 'graph"):
        rows_of(file)
    with pytest.raises(NiahError, match=r"options.pad: GraphWalks's prompts are whole"):
        rows_of(file, {"template": "graphwalks", "lengths": [8000]}, pad="document")
    with pytest.raises(NiahError, match="question 'parents#0-4': length 1000 has no room for its prompt, which"):
        rows_of(file, {"template": "graphwalks", "lengths": [1000]})
    assert len(rows_of(file, {"template": "graphwalks", "lengths": [1000]}, longest=500)) == 3


def test_rows_of_longbench_v2_have_its_own_prompt_as_its_code_fills_it_in(tmp_path: Path) -> None:
    prompt = (
        "Please read the following text and answer the question below.\n\n<text>\n$DOC$\n</text>\n\n"
        "What is the correct answer to this question: $Q$\nChoices:\n(A) $C_A$\n(B) $C_B$\n(C) $C_C$\n(D) $C_D$\n\n"
        'Format your response as follows: "The correct answer is (insert answer here)".'
    )
    assert sha256_hex(prompt.encode()).startswith("68a162252bc9ff71")  # of prompts/0shot.txt
    given = list(rows_of_set("longbench-v2", "en"))
    odd = {"context": "\n The $Q$, $C_B$ and {question}.\n", "question": " Is $C_A$ $DOC$? ", "choice_A": "one\n"}
    given[0].update(odd)
    for number, one in enumerate(given):
        one.update(difficulty=("easy", "hard")[number % 2], length=("short", "medium", "long")[number % 3])
    given[9].update(_id="tenth", length=None)
    file = write_set(tmp_path / "data.jsonl", given)
    recipe = load_recipe("longbench-v2", {"options.file": str(file)})
    rows = list(niah_gen.iter_rows(recipe))
    assert wrong_rows(recipe, rows) == []
    for row, one in zip(rows, given, strict=True):
        filled = prompt
        for place, field in zip(
            ("$DOC$", "$Q$", "$C_A$", "$C_B$", "$C_C$", "$C_D$"),
            ("context", "question", "choice_A", "choice_B", "choice_C", "choice_D"),
            strict=True,
        ):
            filled = filled.replace(place, one[field].strip())
        assert row["prompt"] == [{"role": "user", "content": filled}]
        assert (row["metric"], row["max_new_tokens"]) == ("longbench_v2", 128)
        assert [judged(row, f"The correct answer is ({letter}).") for letter in "ABCD"] == [
            100.0 * (letter == one["answer"]) for letter in "ABCD"
        ]
    assert [row["needle_id"] for row in (rows[0], rows[1], rows[9])] == ["easy-short#0-1", "hard-medium#0-2", "tenth"]


@each(
    ("name", "changes", "options", "message"),
    [
        ("plain", {}, {"pad": "evidence"}, "lengths: the rows of task 'questions' need lengths"),
        ("plain", {"lengths": [2000]}, {"pad": "filler"}, "pad is 'filler'; expected one of none, evidence, document"),
        ("plain", {}, {"metric": "rogue_l"}, "did you mean 'rouge_l'"),
        ("plain", {}, {"columns": ["document"]}, "columns holds 'document'; expected name=column"),
        ("plain", {}, {"longest": 10}, "options.longest: every document"),
        ("plain", {}, {"form": "babilong"}, "input: expected a text that is not blank; there is none"),
        ("plain", {"languages": ["zh"]}, {}, "nothing to ask in zh"),
        ("longbench", {"lengths": [2000]}, {"pad": "evidence"}, "options.pad: 10 questions have no evidence to hide ("),
        ("plain", {"lengths": [250]}, {}, "question 'q1': length 250 has no room for the passages of its evidence"),
        ("plain", {"lengths": [1000]}, {"pad": "document"}, "options.longest leaves out questions about longer"),
        ("babilong", {"lengths": [250]}, {}, "has no room for a sentence of its document"),
        ("plain", {"options.file": "none.jsonl"}, {}, "no such file"),
    ],
)
def test_settings_that_make_no_rows_are_refused(
    name: str, changes: dict[str, object], options: dict[str, object], message: str, tmp_path: Path
) -> None:
    file = set_file(tmp_path, name)
    with pytest.raises(NiahError) as caught:
        rows_of(file, changes, **options)
    assert message in str(caught.value)
