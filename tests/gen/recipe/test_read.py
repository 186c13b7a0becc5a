"""Reading recipes: all problems are reported at once, and every valid recipe is resolved and reads back unchanged."""

from __future__ import annotations

import copy
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import Write
from small_dataset import FACT, problems

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import check_fit
from niah_gen.rows.plan import make_plan

steady = examples(200)


def attempt(raw: Any) -> Recipe | RecipeError:
    """The recipe, or the error that says what is wrong; any other exception is a bug."""
    try:
        return load_recipe(raw)
    except RecipeError as error:
        return error


# Problems -----------------------------------------------------------------------------------------------------------


WRONG: dict[str, tuple[object, str]] = {
    "name": ("no spaces", "letters, digits, dot"),
    "placement": ("nativ", "did you mean 'native'"),
    "lengths": ("many", "number of tokens"),
    "depths": ([0, 101], "0 to 100; found [0, 101]"),
    "repeats": (0, "from 1 to 100000; found 0"),
    "form": ("voice", "text or chat"),
    "diff": (200, "percent"),
    "tokenizer": ("cl100k_bas", "did you mean 'cl100k_base'"),
    "corpora": (["en_essay"], "did you mean 'en_essays'"),
    "needles": (["velden-archiv"], "needles[1]: no needle 'velden-archiv' in the library; did you mean"),
    "lenghts": (5, "did you mean 'lengths'"),
}


def test_all_problems_are_reported_together_with_path_value_and_expectation() -> None:
    messages = problems({name: value for name, (value, _) in WRONG.items()})
    assert len(messages) == len(WRONG)
    for name, (_, phrase) in WRONG.items():
        assert [message for message in messages if message.startswith(name) and phrase in message], name


@each(
    ("field", "values"),
    [
        ("languages", [0, False, {}, 1, "de", ["en", 5], {"en": 1}, [[]], [""]]),
        ("corpora", [" ", ["en_essays", "  "], "en_essays,,zh_articles", "", ["x" * 5000], "a\0b", "~nobody/x"]),
        ("tokenizer", ["x" * 5000, "a\0b", "~no_such_user_here/x"]),
        ("version", ["1", "1.0", "1.0.0.0", "v1.0.0", "1.0.0\n", "1.0.0-beta", "１.０.０", "٢.٠.٠", "", 1, 1.0]),
    ],
)
def test_a_value_that_does_not_fit_its_field_is_one_problem(field: str, values: list[object]) -> None:
    for value in values:
        (problem,) = problems({field: value})
        assert problem.startswith(field), value


@each("source", ["x" * 5000, "a\0b", "no-such-preset", "nothing.toml", "/"])
def test_a_source_that_is_not_a_recipe_is_refused(source: str) -> None:
    assert problems(source)


@each("content", ["lengths = [", "\xff", "name = 1\nname = 2"])
def test_a_file_that_is_not_toml_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(RecipeError, match=r"1 problem\n  .*broken\.toml: cannot be read as TOML"):
        load_recipe(path)


# Overrides ----------------------------------------------------------------------------------------------------------


def test_an_override_replaces_a_field_and_a_dotted_one_a_single_key() -> None:
    assert load_recipe("plain", {"depths.steps": 3}).parts[0].depths == (0, 50, 100)
    assert load_recipe("plain", {"lengths.max": "16k", "lengths.steps": 2}).lengths == (8000, 16_000)
    assert load_recipe("plain", {"repeats": 7}).parts[0].repeats == 7
    # A dotted override turns a list into a table.
    assert load_recipe({"depths": [1, 2]}, {"depths.steps": 2}).parts[0].depths == (0, 100)


def test_wrong_overrides_are_reported_like_wrong_fields_and_resolved_recipes_take_overrides() -> None:
    assert problems("plain", {"repets": 2}) == ("repets: unknown field; did you mean 'repeats'?",)
    assert problems("plain", {"depths.step": 2})[0].startswith("depths: unknown field 'step'; did you mean 'steps'?")
    assert load_recipe(load_recipe("plain"), {"repeats": 3}).parts[0].repeats == 3


# Fields that depend on each other ----------------------------------------------------------------------------------


def test_a_guided_prompt_needs_the_phrase_in_the_question() -> None:
    raw = {"placement": "opencompass", "template": "opencompass-zh", "needles": [FACT], "corpora": ["zh_articles"]}
    with pytest.raises(RecipeError, match="guide: the question of needle 'needle-1' lacks '请按照'"):
        check_fit(make_plan(load_recipe(raw)))
    check_fit(make_plan(load_recipe({**raw, "guide": False})))
    check_fit(make_plan(load_recipe({**raw, "needles": [{**FACT, "question": "请按照这个回答"}]})))


def test_tokenizers_have_the_name_of_their_encoding_and_the_form_is_the_templates_unless_stated() -> None:
    for name, encoding in (("gpt-4", "cl100k_base"), ("gpt-4o-mini", "o200k_base")):
        assert load_recipe({"tokenizer": name}).tokenizer == encoding
    for raw, form in (
        ({}, "text"), ({"form": "chat"}, "chat"), ({"placement": "gkamradt"}, "chat"),
        ({"placement": "gkamradt", "form": "text"}, "text"), ({"template": "gkamradt-anthropic"}, "text"),
    ):  # fmt: skip
        assert load_recipe(raw).form == form


def test_the_users_own_corpora_are_recorded_by_name(
    write_texts: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dataset does not reveal where it was built: the same corpus in another folder gives the same dataset."""
    folders = [write_texts(tmp_path / parent / "mine", ["A text. Its end. " * 200]) for parent in ("here", "there")]
    plans = [make_plan(load_recipe({"corpora": [str(folder)], "needles": [FACT]})) for folder in folders]
    assert plans[0].recipe.corpora == ("mine",)
    assert not any(str(tmp_path).encode() in plan.recipe.to_toml() for plan in plans)
    assert plans[0].digest == plans[1].digest
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path / "there"))
    assert make_plan(load_recipe(tomllib.loads(plans[0].recipe.to_toml().decode()))).digest == plans[0].digest


@each("name", ["mine.json", "gpt-4", "gpt-4.json", "gpt-4o-mine"])
def test_the_users_own_tokenizers_are_recorded_by_a_name_that_finds_them_again(
    tokenizer_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A model's folder often has the name of a model that tiktoken knows too."""
    path = tmp_path / "models" / name
    (path.parent if path.suffix else path).mkdir(parents=True)
    shutil.copy(tokenizer_json, path)
    plan = make_plan(load_recipe({"tokenizer": str(path)}))
    assert str(tmp_path).encode() not in plan.recipe.to_toml()
    monkeypatch.setenv("NIAH_TOKENIZERS", str(path.parent))
    assert make_plan(load_recipe(tomllib.loads(plan.recipe.to_toml().decode()))).digest == plan.digest


# Fuzz ---------------------------------------------------------------------------------------------------------------

VALID: dict[str, Any] = {
    "name": "fuzz", "version": "1.2.3", "task": "single", "placement": "native", "tokenizer": "gpt-4",
    "template": "niah", "form": "text", "guide": False, "repeats": 10, "reserve": 200, "seed": 0,
    "lengths": {"max": "8k", "steps": 8, "min": 500, "rounding": "nearest"},
    "depths": {"steps": 20, "spacing": "linear", "rounding": "floor", "keep_ends": True, "min": 0, "max": 100},
    "max_new_tokens": 100, "diff": 25, "question_position": "both", "spread": "random", "boundary": "word",
    "leaks": "refuse", "fresh_haystacks": True, "languages": ["en"], "corpora": ["en_essays"],
    "needles": [
        {
            "id": "gate", "language": "en", "needles": ["The gate is green."], "question": "Which?",
            "answers": ["Green."], "keywords": [["green", "verdant"]], "metric": "keyword",
        },
        "velden-archive",
    ],
}  # fmt: skip

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-5, 20), st.floats(), st.floats(0, 100),
    st.text(max_size=12), st.binary(max_size=4), st.dates(),
    st.sampled_from(["native", "gkamradt", "multi", "chat", "8k", "1k,2k", "1e999", "9" * 400, "nan", "../x", "/"]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def paths(value: object, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    collected = [before] if before else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        collected += paths(inner, (*before, key))
    return collected


@steady
@given(changes=st.lists(st.tuples(st.sampled_from(paths(VALID)), values), min_size=1, max_size=3))
def test_any_change_to_a_valid_recipe_gives_a_recipe_or_a_recipe_error(
    changes: list[tuple[tuple[Any, ...], Any]],
) -> None:
    raw = copy.deepcopy(VALID)
    for path, value in changes:
        table: Any = raw
        try:
            for key in path[:-1]:
                table = table[key]
            table[path[-1]] = value
        except (TypeError, IndexError, KeyError):
            continue  # an earlier change removed this path
    outcome = attempt(raw)
    if isinstance(outcome, RecipeError):
        assert outcome.problems
        assert all(outcome.problems)
    else:
        assert load_recipe(tomllib.loads(outcome.to_toml().decode())) == outcome


def test_a_question_language_that_does_not_fit_is_refused() -> None:
    for code, recipe, message in (
        ("de", {}, "question_language: expected en or zh or ar"),
        ("zh", {"task": "key-values"}, "task 'key-values' asks in the language of its texts"),
        ("zh", {"paraphrase": True, "needles": ["velden-archive"]}, "has one wording"),
        ("fr", {"needles": ["velden-archive"]}, "needle velden-archive has no question in fr"),
    ):
        assert any(message in problem for problem in problems({"question_language": code, **recipe})), message


# Corpora and needles in different languages -------------------------------------------------------------------------

BOTH = ("en_essays", "zh_articles")
ENGLISH = ["velden-archive"]
TEXTS = Path(__file__).parents[2] / "corpora" / "texts"


def loaded(source: Any, overrides: dict[str, Any] | None = None) -> tuple[Recipe, list[str]]:
    """The recipe, and the notices given while it was loaded."""
    notices: list[str] = []
    return load_recipe(source, overrides, notice=notices.append), notices


def test_needles_in_one_language_leave_out_corpora_in_the_other_that_nobody_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('needles = ["velden-archive"]\n', "utf-8")
    sources: list[tuple[Any, dict[str, Any]]] = [
        ("plain", {"needles": ENGLISH}), ({"needles": ENGLISH}, {}), ({}, {"needles": ENGLISH}), (file, {}),
    ]  # fmt: skip
    for source, overrides in sources:
        recipe, notices = loaded(source, overrides)
        assert (recipe.corpora, notices) == (("en_essays",), ["left out zh_articles: no needle is in zh"])
        assert {cell.language for cell in make_plan(recipe).cells} == {"en"}
    file.write_text('[tor]\nneedle = "城门漆成绿色。"\nquestion = "城门是什么颜色？"\nkeywords = ["绿"]\n', "utf-8")
    recipe, notices = loaded("plain", {"needles": [str(file)]})
    assert (recipe.corpora, notices) == (("zh_articles",), ["left out en_essays: no needle is in en"])
    parts = [{"name": "one", "corpora": ["en_essays"]}, {"name": "two"}]
    recipe, notices = loaded({"needles": ENGLISH, "parts": parts})
    assert [part.corpora for part in recipe.parts] == [("en_essays",), ("en_essays",)]
    assert notices == ["part two: left out zh_articles: no needle is in zh"]


def test_explicitly_named_corpora_or_languages_without_needles_remain_an_error(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('needles = ["velden-archive"]\ncorpora = ["en_essays", "zh_articles"]\n', "utf-8")
    sources: list[tuple[Any, dict[str, Any]]] = [
        (file, {}), ("plain", {"needles": ENGLISH, "corpora": [*BOTH]}),
        ({"needles": ENGLISH, "corpora": ["zh_articles"]}, {}), ("plain", {"needles": ENGLISH, "languages": ["zh"]}),
    ]  # fmt: skip
    for source, overrides in sources:
        recipe, notices = loaded(source, overrides)
        assert notices == []
        with pytest.raises(RecipeError, match="needles: none is in zh, the language of corpus 'zh_articles'"):
            make_plan(recipe)


def test_placements_and_presets_that_need_no_needle_in_a_language_keep_their_corpora(all_corpora: Path) -> None:
    overrides = {"needles": ENGLISH, "placement": "native", "template": "niah", "guide": False}
    recipe, notices = loaded("cdme-8k", overrides)
    assert (recipe.corpora, notices) == (("cdme/zh_finance",), [])
    assert loaded("plain", {"needles": ENGLISH, "placement": "gkamradt"})[0].corpora == BOTH
    assert loaded("plain", {"needles": [*ENGLISH, "heyuan-archive"]})[0].corpora == BOTH


@each("language", ["ar", "es", "fr", "ja"])
def test_a_preset_given_a_corpus_adds_needles_in_its_language_unless_some_are_named(language: str) -> None:
    overrides = {"corpora": ["en_essays", str(TEXTS / language)], "lengths": [1000], "depths": [50]}
    recipe, notices = loaded("plain", overrides)
    needles = recipe.parts[0].needles
    assert [needle.language for needle in needles] == ["en"] * 3 + [language] * 3
    assert notices == [f"added {', '.join(n.id for n in needles[3:])}: the preset has no needle in {language}"]
    assert {row["language"] for row in niah_gen.iter_rows(recipe)} == {"en", language}
    named = loaded("plain", {**overrides, "needles": ENGLISH})[0]
    assert [needle.id for needle in named.parts[0].needles] == ENGLISH
