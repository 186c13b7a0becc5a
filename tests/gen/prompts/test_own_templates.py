"""The user's own templates: all errors of a file are reported at once; system messages come first in every chat."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from each import each
from rendering import library

from niah_gen.errors import RecipeError
from niah_gen.prompts.own_templates import (
    is_file,
    own_templates,
    read_template_file,
    with_system,
    wrong_system,
    wrong_tables,
)
from niah_gen.prompts.templates import POSITIONS, template_family, template_for, template_names

MINE = """
[mine-en]
language = "en"
text = "{context}\\n\\nQ: {question}\\nA:"
chat = [{role = "user", content = "{context}"}, {role = "user", content = "{question}"}]

[mine-zh]
language = "zh"
text = "{context}\\n问：{question}"

[mine-zh.start]
text = "问：{question}\\n{context}"
"""
LIBRARY = Path(__file__).parents[3] / "niah_gen" / "library" / "templates"


def problems_in(folder: Path, text: str) -> list[str]:
    file = folder / "my.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(RecipeError) as caught:
        read_template_file(str(file))
    return [problem.removeprefix(str(file)) for problem in caught.value.problems]


def table(**fields: Any) -> dict[str, Any]:
    return {"mine-en": {"language": "en", "text": "{context} {question}", **fields}}


def test_a_file_defines_the_template_name_that_its_tables_share(tmp_path: Path) -> None:
    file = tmp_path / "whatever.toml"
    file.write_text(MINE, "utf-8")
    templates = read_template_file(str(file))
    assert (templates.name, list(templates.tables)) == ("mine", ["mine-en", "mine-zh"])
    own = own_templates(templates.tables)
    assert template_for("mine", "zh", own) is own["mine-zh"]
    assert template_for("mine", "fr", own) is None
    assert own["mine-en"].forms() == ("text", "chat")
    assert set(own["mine-zh"].wordings) == {"end", "start"}
    assert {"mine", "mine-en", "niah"} <= set(template_names(own))
    assert set(template_family("mine", own)) == {"mine-en", "mine-zh"}


def test_a_name_after_the_path_chooses_among_several_templates(tmp_path: Path) -> None:
    text = MINE + '[other]\nlanguage = "en"\ntext = "{context} {question}"\n'
    (problem,) = problems_in(tmp_path, text)
    assert problem.startswith(": has templates mine, other; say which, such as ")
    path = str(tmp_path / "my.toml")
    assert list(read_template_file(f"{path}#mine").tables) == ["mine-en", "mine-zh"]
    assert read_template_file(f"{path}#mine-zh").name == "mine-zh"
    assert list(read_template_file(f"{path}#other").tables) == ["other"]
    with pytest.raises(RecipeError, match="has no template 'othr'; did you mean 'other'"):
        read_template_file(f"{path}#othr")


def test_paths_are_distinguished_from_names() -> None:
    assert [is_file(spec) for spec in ("my.toml", "a/b.toml#x", "niah", "niah-en", 3, None)] == [True, True] + [
        False
    ] * 4


def test_every_error_in_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    problems = problems_in(
        tmp_path,
        """
[a-en]
language = "zh"
texts = "no"

[b]
text = "{question} {context}"
chat = [{role = "robot", content = "{context}", name = "x"}, {role = "user"}]

[niah-en]
language = "de"
chat = [{role = "user", content = "{context}{context}{question}"}]

[c.start]
text = " "
shape = 1
""",
    )
    assert problems == [
        ":2: [a-en].texts: unknown field; did you mean 'text'?",
        ":2: [a-en].language: is 'zh', but the name ends in '-en'; change one of them",
        ":2: [a-en]: has neither text nor chat; expected one of them, or both",
        ":6: [b].language: is missing; expected en or zh or ar or es or fr or ja",
        ":6: [b].text: with the question at the end, expected {question} once after {context}; "
        "found it 1 times before and 0 times after",
        ":6: [b].chat[1].name: unknown field; known: content, role",
        ":6: [b].chat[1].role: expected system, developer, user, assistant; found 'robot'",
        ":6: [b].chat[2].content: expected a text; found None",
        ":10: [niah-en]: a template of the package has this name; rename yours",
        ":10: [niah-en].language: expected en or zh or ar or es or fr or ja; found 'de'",
        ":10: [niah-en].chat: expected {context} once, where the haystack goes; found it 2 times",
        ":14: [c].language: is missing; expected en or zh or ar or es or fr or ja",
        ":14: [c.start].shape: unknown field; known: chat, text",
        ":14: [c.start].text: expected a text; found ' '",
    ]


BOTH = 'language = "en"\ntext = "{context}{question}"'


@each(
    ("text", "message"),
    [
        ("", "expected a table such as [mine-en]"),
        ("mine = 3", "[mine]: expected a table with language and text or chat, found 3"),
        ("[mine", "cannot be read as TOML"),
        (f'["a b"]\n{BOTH}', "expected a name of at most 64 letters"),
        (f"[niah]\n{BOTH}", "a template of the package has this name"),
        (f"[gkamradt-openai-en]\n{BOTH}", "a template of the package has this name"),
        (f"{MINE}[mine]\n{BOTH}", "clashes with [mine], which is for every language"),
        ('[m]\nlanguage = "en"\ntext = "{context}"', "once after {context}; found it 0 times before and 0 times after"),
        ('[m]\nlanguage = "en"\nchat = []', "[m].chat: expected messages, each with role and content; found []"),
        ('[m]\nlanguage = "en"\nchat = ["x"]', "[m].chat[1]: expected a table with role and content; found 'x'"),
        ('[m]\nlanguage = "en"\nstart = 3', "[m.start]: expected a table with text or chat, found 3"),
        ('[m]\nlanguage = "en"\nstart = {}', "[m.start]: has neither text nor chat"),
    ],
)
def test_a_broken_file_is_refused_with_an_explanation(tmp_path: Path, text: str, message: str) -> None:
    assert any(message in problem for problem in problems_in(tmp_path, text))


def test_a_missing_or_undecodable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"my\.toml: no such file"):
        read_template_file(str(tmp_path / "my.toml"))
    (tmp_path / "my.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RecipeError, match=r"my\.toml: cannot be read as TOML"):
        read_template_file(str(tmp_path / "my.toml"))


@each(
    "guide",
    [
        3,
        {"default": 3},
        {"default": {}},
        {"default": {"split": "a"}},
        {"native": {"append": "a", "split": "b", "insert": ""}},
        {"native": {"append": "a", "more": "b"}},
        {"native": {"split": "", "insert": "b"}},
    ],
)
def test_a_broken_guide_rule_is_refused(guide: object) -> None:
    assert any(problem.startswith("[mine-en.guide]") for problem in wrong_tables(table(guide=guide)))


def test_guide_rules_that_append_or_split_are_read() -> None:
    rules = {"default": {"append": "!"}, "native": {"split": "a", "insert": "b"}}
    assert not list(wrong_tables(table(guide=rules)))
    assert own_templates(table(guide=rules))["mine-en"].guide["native"].apply("ca") == "cb"


@each("file", sorted(LIBRARY.iterdir()))
def test_the_librarys_own_files_are_valid_under_other_names(file: Path) -> None:
    tables = {f"my-{name}": fields for name, fields in tomllib.loads(file.read_text("utf-8")).items()}
    assert not list(wrong_tables(tables))


# System messages ----------------------------------------------------------------------------------------------------


@each("name", ["niah-en", "niah-zh", "gkamradt-openai", "opencompass-zh"])
def test_a_system_message_comes_first_and_replaces_the_templates_own(name: str) -> None:
    template = with_system(library(name), "Be brief.")
    for position, wording in library(name).wordings.items():
        first, *rest = template.wordings[position].messages("chat")
        assert first == {"role": "system", "content": "Be brief."}
        assert rest == [message for message in wording.messages("chat") if message["role"] != "system"]


def test_a_system_message_needs_a_chat_and_never_replaces_the_context() -> None:
    (problem,) = wrong_system("niah", {}, "text")
    assert "--chat" in problem
    assert wrong_system("niah", {}, "chat") == wrong_system("gkamradt-openai", {}, "chat") == []
    chat = [{"role": "system", "content": "Read: {context}"}, {"role": "user", "content": "{question}"}]
    (problem,) = wrong_system("mine", {"mine-en": {"language": "en", "chat": chat}}, "chat")
    assert "the system message of template 'mine-en' holds {context} or {question} and cannot be replaced" in problem


def test_a_template_may_offer_any_single_position_of_the_question() -> None:
    for position, count in POSITIONS.items():
        text = "{question}" * count.before + "{context}" + "{question}" * count.after
        tables = {"mine": {"language": "en", **({"text": text} if position == "end" else {position: {"text": text}})}}
        assert not list(wrong_tables(tables))
        assert list(own_templates(tables)["mine"].wordings) == [position]
        assert own_templates(tables)["mine"].forms() == ("text",)
