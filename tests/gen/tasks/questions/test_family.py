"""Questions of external sets: from the file through the dataset folder to the score, whole, cut and in filler."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from proofs import of_rows, read, rename, write
from proved import problems_of, prove
from question_sets import SETS, sample_documents, write_set

import niah_gen
import niah_score
from niah_gen.errors import FitError, NiahError, RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.contract import ROW_ID, config_name
from niah_score.metrics import METRICS, target_of

each_set = pytest.mark.parametrize("name", SETS)
each_language = pytest.mark.parametrize("language", ["en", "zh"])


@pytest.fixture(autouse=True)
def _set_files_can_be_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset records only the name of its file, so proving it looks the file up."""
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path))


def set_file(tmp_path: Path, name: str, language: str, suffix: str = ".jsonl") -> Path:
    return write_set(tmp_path / f"{name}-{language}{suffix}", SETS[name][1](language))


def recipe_of(file: Path, changes: dict[str, Any] | None = None, **options: object) -> niah_gen.Recipe:
    overrides = {f"options.{option}": value for option, value in options.items()}
    return load_recipe("questions", {"options.file": str(file), **overrides, **(changes or {})})


def text_of(row: Mapping[str, Any]) -> str:
    return str(row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][-1]["content"])


def judged(answer: str, row: Mapping[str, Any]) -> float:
    return METRICS[row["metric"]].judge(answer, target_of({**row})).value or 0.0


@pytest.mark.slow
@each_language
@each_set
def test_whole_documents_are_built_proved_and_scored_100_for_the_truth_alone(
    name: str, language: str, tmp_path: Path
) -> None:
    file = set_file(tmp_path, name, language)
    form = "chat" if (list(SETS).index(name) % 2 == 0) == (language == "zh") else "text"
    folder = niah_gen.build(recipe_of(file, {"form": form}), tmp_path / "out", formats=["jsonl"])
    proof = prove(folder)
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    rows = read(folder, f"jsonl/{language}/test-00000-of-00001.jsonl")
    assert len(rows) == (20 if name == "l-eval" else 10)
    assert {(row["length"], row["depth_percent"], row["language"], row["corpus"]) for row in rows} == {
        (None, None, language, "questions")
    }
    for row in rows:
        document = next(one.document for one in sample_documents(language) if one.document in text_of(row))
        assert text_of(row).count(document) == 1
        assert document.count(row["answers"][-1]) == 1
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "prediction": row["answers"][0]}) + "\n" for row in rows))
    assert niah_score.evaluate(folder, answers).scores["score"].to_list() == pytest.approx([100.0] * len(rows))
    wrong = [judged("Unknown.", row) for row in rows]
    assert sum(wrong) / len(wrong) <= 10
    others = [judged(other["answers"][-1], row) for row, other in zip(rows, rows[2:] + rows[:2], strict=True)]
    assert sum(others) / len(others) <= 25


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["head", "tail", "middle"])
@each_language
@pytest.mark.parametrize("name", ["plain", "longbench-v2", "babilong"])
def test_cut_documents_stay_within_their_budget_and_near_it(name: str, language: str, cut: str, tmp_path: Path) -> None:
    lengths = [700]
    file = set_file(tmp_path, name, language)
    folder = niah_gen.build(recipe_of(file, {"lengths": lengths}, cut=cut), tmp_path / "out", formats=["jsonl"])
    assert prove(folder).problems == ()
    documents = [one.document for one in sample_documents(language)]
    for length in lengths:
        for row in read(folder, f"jsonl/{config_name(language, length)}/test-00000-of-00001.jsonl"):
            below = length - 200 - row["prompt_tokens"]
            assert 0 <= below <= 160  # too little room for the next sentence
            assert not any(document in row["prompt"] for document in documents)
            for needle, span in zip(row["needles"], row["needle_spans"], strict=True):
                assert row["prompt"][span["start"] : span["end"]] == needle
                assert row["prompt"].count(needle) == 1
            assert judged(row["answers"][0], row) == pytest.approx(100)


@pytest.mark.slow
@pytest.mark.parametrize("pad", ["evidence", "document"])
@each_language
def test_padded_passages_are_near_the_requested_depth(language: str, pad: str, tmp_path: Path) -> None:
    file = set_file(tmp_path, "plain", language)
    length = 8000 if pad == "document" else 2000
    changes = {"lengths": [length], "depths": [0, 50, 100], "form": "chat"}
    folder = niah_gen.build(recipe_of(file, changes, pad=pad), tmp_path / "out", formats=["jsonl"])
    proof = prove(folder)
    assert (proof.problems, proof.not_rebuilt, proof.rows) == ((), None, 30)
    for row in read(folder, f"jsonl/{config_name(language, length)}/test-00000-of-00001.jsonl"):
        assert 0 <= length - 200 - row["prompt_tokens"] <= 8
        assert abs(row["needle_depths"][0] - row["depth_percent"]) <= 5
        one = sample_documents(language)[int(row["needle_id"].removeprefix("q")) - 1]
        assert row["needles"] == [one.evidence if pad == "evidence" else one.document]
        assert row["leak"] is None
        assert judged(row["answers"][0], row) == pytest.approx(100)


def test_a_parquet_file_makes_the_same_prompts_as_jsonl(tmp_path: Path) -> None:
    for name in ("plain-choices", "longbench-v2", "l-eval"):
        lines, columns = (
            [(row["needle_id"], row["prompt"], row["answers"]) for row in niah_gen.iter_rows(recipe_of(file))]
            for file in (set_file(tmp_path, name, "en"), set_file(tmp_path, name, "en", ".parquet"))
        )
        assert lines == columns


def test_passages_are_at_their_spans_whatever_their_order_in_the_file(tmp_path: Path) -> None:
    passages = ["Ida Holt lit the lamp.", "The harbour froze."]
    document = f"It rained. {passages[0]} The fair was late. {passages[1]} Nobody came."
    row = {"document": document, "question": "Who?", "answers": ["Ida"], "evidence": passages[::-1]}
    file = write_set(tmp_path / "own.jsonl", [row])
    folder = niah_gen.build(recipe_of(file), tmp_path / "out", formats=["jsonl"])
    (built,) = read(folder, "jsonl/en/test-00000-of-00001.jsonl")
    assert built["needles"] == passages
    assert [text_of(built)[span["start"] : span["end"]] for span in built["needle_spans"]] == passages
    assert prove(folder).problems == ()


def test_a_document_shorter_than_the_length_stays_whole(tmp_path: Path) -> None:
    rows = list(niah_gen.iter_rows(recipe_of(set_file(tmp_path, "plain", "en"), {"lengths": [16000]})))
    assert all(one.document in text_of(row) for one, row in zip(sample_documents("en"), rows, strict=True))


def test_the_no_context_control_is_the_question_alone(tmp_path: Path) -> None:
    rows = list(niah_gen.iter_rows(recipe_of(set_file(tmp_path, "plain", "en"), {"controls": ["no_context"]})))
    alone = [row for row in rows if row["control"] == "no_context"]
    assert (len(alone), len(rows)) == (10, 20)
    assert all(text_of(row) == f"{row['question']}\n" for row in alone)


def test_the_recognised_form_is_announced_and_recorded_in_the_dataset(tmp_path: Path) -> None:
    notices: list[str] = []
    recipe = load_recipe(
        "questions", {"options.file": str(set_file(tmp_path, "lv-eval", "en"))}, notice=notices.append
    )  # fmt: skip
    assert notices == ["lv-eval-en.jsonl: LV-Eval's form, 10 in en"]
    folder = niah_gen.build(recipe, tmp_path / "out")
    resolved = load_recipe(folder / "recipe.toml", here=False)
    assert resolved.parts[0].options["form"] == "lv-eval"
    assert resolved.parts[0].options["file"] == "lv-eval-en.jsonl"
    assert str(tmp_path) not in (folder / "recipe.toml").read_text()


def test_ids_depend_on_the_file_but_not_on_added_lengths(tmp_path: Path) -> None:
    file = set_file(tmp_path, "plain", "en")
    first = {row["id"] for row in niah_gen.iter_rows(recipe_of(file, {"lengths": [700]}))}
    assert first < {row["id"] for row in niah_gen.iter_rows(recipe_of(file, {"lengths": [700, 1200]}))}
    file.write_text(file.read_text() + " \n")
    assert not first & {row["id"] for row in niah_gen.iter_rows(recipe_of(file, {"lengths": [700]}))}


def test_options_choose_the_questions_and_their_metric(tmp_path: Path) -> None:
    file = set_file(tmp_path, "plain", "en")
    rows = list(niah_gen.iter_rows(recipe_of(file, rows=3, metric="exact")))
    assert [row["needle_id"] for row in rows] == ["q1", "q2", "q3"]
    assert {row["metric"] for row in rows} == {"exact"}
    sizes = sorted(len(one.document) for one in sample_documents("en"))
    notices: list[str] = []
    overrides = {"options.file": str(file), "options.longest": sizes[4]}
    kept = list(niah_gen.iter_rows(load_recipe("questions", overrides, notice=notices.append)))
    assert len(kept) == sum(size <= sizes[4] for size in sizes)
    assert (
        notices[1]
        == f"plain-en.jsonl: left out {10 - len(kept)} questions about documents of more than {sizes[4]} characters"
    )


def test_needle_ids_are_the_files_own_ids_or_question_numbers(tmp_path: Path) -> None:
    rows = niah_gen.iter_rows(recipe_of(set_file(tmp_path, "plain-choices", "en")))
    assert [row["needle_id"] for row in rows] == [f"lamp-{number}" for number in range(10)]
    rows = niah_gen.iter_rows(recipe_of(set_file(tmp_path, "l-eval", "en")))
    assert [row["needle_id"] for row in rows][:4] == ["q1-1", "q1-2", "q2-1", "q2-2"]


def test_ids_with_any_characters_make_plain_row_ids(tmp_path: Path) -> None:
    rows = [{**row, "id": f"灯 {number}/é?"} for number, row in enumerate(SETS["plain"][1]("en"))]
    file = write_set(tmp_path / "odd.jsonl", rows)
    built = list(niah_gen.iter_rows(recipe_of(file, {"lengths": [700]})))
    assert [row["needle_id"] for row in built] == [row["id"] for row in rows]
    assert all(ROW_ID.fullmatch(row["id"]) for row in built)
    assert len({row["id"] for row in built}) == 10


def test_the_lv_eval_template_makes_its_published_prompt(tmp_path: Path) -> None:
    rows = niah_gen.iter_rows(recipe_of(set_file(tmp_path, "lv-eval", "en"), {"template": "lv-eval"}))
    one, row = sample_documents("en")[0], next(rows)
    assert text_of(row) == (
        f"Please answer the following questions based on the given article.\n\nArticle: {one.document}\n\n"
        "Please answer the following questions based on the above article.\n\n"
        f"Question: {one.question}\nAnswer:"
    )


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"pad": "evidence"}, "lengths: the rows of task 'questions' need lengths"),
        ({"lengths": [2000]}, {"pad": "filler"}, "pad is 'filler'; expected one of none, evidence, document"),
        ({"lengths": [2000]}, {"cut": "ends"}, "cut is 'ends'; expected one of head, tail, middle"),
        ({}, {"form": "squad"}, "form is 'squad'; expected one of plain"),
        ({}, {"metric": "rogue_l"}, "did you mean 'rouge_l'"),
        ({}, {"columns": ["document"]}, "columns holds 'document'; expected name=column"),
        ({}, {"rows": 0}, "rows is 0; expected at least 1"),
        ({}, {"longest": 10}, "options.longest: every document"),
        ({}, {"form": "babilong"}, "input: expected a text that is not blank; there is none"),
        ({"languages": ["zh"]}, {}, "nothing to ask in zh"),
    ],
)
def test_settings_that_make_no_rows_are_refused(
    changes: dict[str, object], options: dict[str, object], message: str, tmp_path: Path
) -> None:
    file = set_file(tmp_path, "plain", "en")
    with pytest.raises(NiahError) as caught:
        list(niah_gen.iter_rows(recipe_of(file, changes, **options)))
    assert message in str(caught.value)


def test_the_preset_is_refused_without_its_file(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"options\.file: expected a file's path; it has no default"):
        load_recipe("questions")
    with pytest.raises(RecipeError, match="no such file"):
        recipe_of(tmp_path / "none.jsonl")


def test_padding_evidence_is_refused_for_questions_without_evidence(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"options.pad: 10 questions have no evidence to hide \("):
        recipe_of(set_file(tmp_path, "longbench", "en"), {"lengths": [2000]}, pad="evidence")


def test_lengths_without_room_are_refused_with_the_id_of_the_question(tmp_path: Path) -> None:
    file = set_file(tmp_path, "plain", "en")
    with pytest.raises(FitError, match="question 'q1': length 250 has no room for the passages of its evidence"):
        list(niah_gen.iter_rows(recipe_of(file, {"lengths": [250]})))
    with pytest.raises(FitError, match=r"question 'q1': length 1000 leaves no room .*options.longest"):
        list(niah_gen.iter_rows(recipe_of(file, {"lengths": [1000]}, pad="document")))
    other = set_file(tmp_path, "babilong", "en")
    with pytest.raises(FitError, match="has no room for a sentence of its document"):
        list(niah_gen.iter_rows(recipe_of(other, {"lengths": [250]})))


def test_the_single_task_still_needs_lengths() -> None:
    with pytest.raises(RecipeError, match="lengths: the rows of task 'single' need lengths"):
        load_recipe("plain", {"lengths": 0})


def _other_document(row: dict[str, Any]) -> None:
    row["prompt"] = row["prompt"].replace("The lamp of", "The bell of", 1)


def _other_id(row: dict[str, Any]) -> None:
    row["haystack_id"] = "0" * 12


def _other_answer(row: dict[str, Any]) -> None:
    row["answers"] = ["Nowhere"]


def _other_tokens(row: dict[str, Any]) -> None:
    row["haystack_tokens"] += 1


def _shorter(row: dict[str, Any]) -> None:
    end = row["prompt"].index("\n</document>")
    row["prompt"] = row["prompt"][: end - 20] + row["prompt"][end:]


@pytest.mark.parametrize(
    ("damage", "messages"),
    [
        (_other_document, ("is not the file's document", "cut between sentences")),
        (_other_id, ("haystack_id is", "haystack_id is")),
        (_other_answer, ("answers is", "answers is")),
        (_other_tokens, ("haystack_tokens is", "haystack_tokens is")),
        (_shorter, ("is not the file's document", "cut between sentences")),
    ],
)
def test_a_row_that_contradicts_its_file_is_refused(
    damage: Callable[[dict[str, Any]], None],
    messages: tuple[str, str],
    tmp_path: Path,
    cl100k: BytePairTokenizer,
) -> None:
    file = set_file(tmp_path, "longbench", "en")
    for lengths, config, message in (([0], "en", messages[0]), ([700], "en-700", messages[1])):
        folder = niah_gen.build(
            recipe_of(file, {"lengths": lengths}, cut="middle"), tmp_path / "out", formats=["jsonl"]
        )  # fmt: skip
        path = f"jsonl/{config}/test-00000-of-00001.jsonl"
        rows = read(folder, path)
        number = next(
            n for n, row in enumerate(rows) if damage is not _other_document or "The lamp of" in row["prompt"]
        )
        changed = copy.deepcopy(rows)
        damage(changed[number])
        rename(changed[number], cl100k)
        write(folder, changed, path)
        problems = of_rows(problems_of(folder))
        assert any(message in problem for problem in problems), problems


def test_a_passage_lost_from_a_cut_is_refused(tmp_path: Path, cl100k: BytePairTokenizer) -> None:
    file = set_file(tmp_path, "plain", "en")
    folder = niah_gen.build(recipe_of(file, {"lengths": [700]}), tmp_path / "out", formats=["jsonl"])
    path = "jsonl/en-700/test-00000-of-00001.jsonl"
    rows = read(folder, path)
    rows[0]["prompt"] = rows[0]["prompt"].replace(rows[0]["needles"][0], rows[0]["needles"][0][::-1])
    rename(rows[0], cl100k)
    write(folder, rows, path)
    problems = of_rows(problems_of(folder))
    assert any("a passage of the evidence occurs 0 times" in problem for problem in problems)
    assert any("is not at its span" in problem for problem in problems)
