"""Needles of the user's own: tables and files are read, or refused with the place of the problem."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from small_dataset import FACT, problems

from niah_gen import iter_rows
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.own_needles import find_needles, parse_needle, read_needles

OWN = """
[gate]
needle = "The gate of Ostrel is viridian."
question = "What colour is the gate of Ostrel?"
paraphrase = "How is Ostrel's way in painted?"
answer = "Viridian."
keywords = ["viridian"]

[tower]
needle = "奥斯特雷尔的塔有九百零七级台阶。"
question = "塔有多少级台阶？"
answer = "907级。"
keywords = [["907", "九百零七"]]
"""


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    file = tmp_path / "own.toml"
    file.write_text(OWN, "utf-8")
    return file


# Tables -------------------------------------------------------------------------------------------------------------


def test_inline_needles_are_read_in_every_shape() -> None:
    fact = {"question": "What?"}
    for table, expected in (
        ({"needle": "A fact."}, ("needle-1", "en", ("A fact.",), ("A fact.",), (), "edit")),
        ({"needle": "一句。"}, ("needle-1", "zh", ("一句。",), ("一句。",), (), "edit")),
        ({"needles": ["A.", "B."], "answer": "That."}, ("needle-1", "en", ("A.", "B."), ("That.",), (), "edit")),
        ({"id": "mine", "needle": "A fact.", "keywords": ["fact", ["a", "an"]], "language": "zh", "metric": "cdme"},
         ("mine", "zh", ("A fact.",), ("A fact.",), (("fact",), ("a", "an")), "cdme")),
        ({"needle": "A fact.", "keywords": ["fact"]},
         ("needle-1", "en", ("A fact.",), ("A fact.",), (("fact",),), "keyword")),
    ):  # fmt: skip
        (one,) = load_recipe({"needles": [{**fact, **table}], "corpora": ["en_essays", "zh_articles"]}).parts[0].needles
        assert (one.id, one.language, one.needles, one.answers, one.keywords, one.metric) == expected
        assert parse_needle(one.table()) == (one, [])


def test_an_invalid_field_of_a_needle_is_named() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        *(({"needle": value}, "needles") for value in ("", "   ", 5, ["a", ""])),
        *(({"keywords": value}, "keywords") for value in ("green", [5], [""], None)),
        *(({"answers": value}, "answers") for value in (5, ["It.", ""])),
        *(({"language": value}, "language") for value in ("de", ["en"])),
        ({"metric": "keywrod"}, "metric: metric 'keywrod' is unknown; did you mean 'keyword'"),
        ({"keyword": ["green"]}, "unknown field 'keyword'"),
        ({"paraphrase": "\ud800"}, "paraphrase: expected a text"),
        ({"questions": {"de": "Was?"}}, "questions: expected a table of languages and texts"),
        ({"keyword_kinds": ["colour"]}, "keyword_kinds: expected "),
        ({"rejects": [[""]]}, "rejects: expected a list of texts for each keyword group"),
        ({"conflict": {"text": "It is.", "value": 5}}, "conflict: expected {text = ..., value = [...]}, none empty"),
        ({"conflict": {"text": "It is green.", "value": ["red"]}}, "states a fact that the question asks for"),
        ({"conflict": {"text": "It is red."}}, "conflict: expected {text = ..., value = [...]}, none empty"),
    ]
    for change, path in cases:
        reported = problems({"needles": [{**FACT, **change}]})
        assert any(problem.startswith("needles[1].") and path in problem for problem in reported), reported


def test_each_fact_of_a_pair_rejects_the_other_owners() -> None:
    upper = {"text": "lilac", "of": ["upper", "上街"], "rejects": ["deep"]}
    pairs = {"keywords": [upper, {"text": "green", "of": "lower"}, "plum"]}
    needle, wrong = parse_needle({**FACT, "id": "teams", "needle": "Lilac, green, plum.", **pairs})
    assert needle is not None, wrong
    assert needle.keyword_kinds == ("pair:upper|上街", "pair:lower", "text")
    assert needle.rejects == (("deep", "lower"), ("upper", "上街"), ())


# Files --------------------------------------------------------------------------------------------------------------


def test_a_users_file_provides_all_its_needles_or_one_by_name(own_file: Path) -> None:
    gate, tower = find_needles(str(own_file))
    assert (gate.id, gate.language, gate.answers) == ("gate", "en", ("Viridian.",))
    assert (tower.id, tower.language, tower.keywords) == ("tower", "zh", (("907", "九百零七"),))
    own_file.write_bytes(b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode())
    assert find_needles(f"{own_file}#tower") == (tower,)
    recipe = load_recipe({"needles": [f"{own_file}#tower", "velden-archive"]})
    assert [needle.id for needle in recipe.parts[0].needles] == ["tower", "velden-archive"]
    own_file.unlink()
    assert load_recipe(tomllib.loads(recipe.to_toml().decode())) == recipe


def test_a_problem_in_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    cases: list[tuple[bytes, list[str]]] = [
        (b"[gate\n", ["cannot be read as TOML", "line 1"]),
        (b'\n\n[gate]\nneedle = ""\nquestion = "?"\n', ["bad.toml:3: [gate].needles: expected a text"]),
        (b'[a]\nneedle = "A."\nquestion = "?"\n["b c"]\nneedle = 1\n', ["bad.toml:4: [b c].needles", "question"]),
        (b'[gate]\nid = "door"\nneedle = "A."\nquestion = "?"\n', ["bad.toml:1: [gate].id: the table's name is"]),
        (b'[gate]\nneedle = "A."\nquestion = "?"\nparaphrase = 5\n', ["[gate].paraphrase: expected a text, found 5"]),
    ]
    for content, parts in cases:
        (file := tmp_path / "bad.toml").write_bytes(content)
        with pytest.raises(RecipeError) as caught:
            read_needles(file)
        assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_missing_files_and_needles_and_repeated_ids_are_named(own_file: Path) -> None:
    for needles, problem in (
        ([], "needles: expected at least one name or table; found none"),
        (["velden-archive"] * 2, "needles: 'velden-archive' is given twice; give each needle its own id"),
        ([{**FACT, "id": "needle-2"}, FACT], "needles: 'needle-2' is given twice"),
        ([str(own_file), f"{own_file}#gate"], "needles: 'gate' is given twice"),
        (["nowhere.toml"], "needles[1]: nowhere.toml: no such file"),
        ([f"{own_file}#towr"], f"needles[1]: {own_file} has no needle 'towr'; did you mean 'tower'?"),
        (["gkamrat"], "needles[1]: no needle 'gkamrat' in the library; did you mean 'gkamradt'?"),
        ([str(own_file), "gate"], "needles[2]: no needle 'gate' in the library"),
    ):
        (reported,) = problems({"needles": needles})
        assert reported.startswith(problem)


# Questions ----------------------------------------------------------------------------------------------------------


def test_paraphrase_changes_the_question_but_not_the_needles_or_answers(own_file: Path) -> None:
    asked = {"needles": [f"{own_file}#gate"], "lengths": [900], "depths": [50], "corpora": ["en_essays"]}
    (plain,), (other,) = iter_rows(asked), iter_rows({**asked, "paraphrase": True})
    assert plain["question"] == "What colour is the gate of Ostrel?"
    assert other["question"] == "How is Ostrel's way in painted?"
    assert (other["question"] in other["prompt"], plain["question"] in other["prompt"]) == (True, False)
    assert (other["needles"], other["answers"]) == (plain["needles"], plain["answers"])
    assert other["id"] != plain["id"]
    assert problems({"needles": [str(own_file), "sf-dolores-park"], "paraphrase": True}) == (
        "paraphrase: no paraphrased question for needle tower, sf-dolores-park",
    )
