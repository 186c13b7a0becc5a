"""Templates and the frames that they make around a context."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from each import each
from rendering import filled, library, template_library

from niah_gen.errors import RecipeError
from niah_gen.prompts.frame import make_frame
from niah_gen.prompts.templates import (
    GuideRule,
    Wording,
    is_file,
    own_templates,
    read_template_file,
    template_family,
    template_for,
    template_names,
    wrong_system,
)
from niah_score.contract import Message, PromptForm


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, Any]:
    """The published settings of OpenCompass and gkamradt, verbatim."""
    return tomllib.loads((shared / "golden" / "presets.toml").read_text("utf-8"))


def test_templates_and_guide_rules_are_the_published_strings(published: dict[str, Any]) -> None:
    stated, chats = published["opencompass"]["templates"], published["gkamradt"]["templates"]
    suffix = published["opencompass"]["processed"]["guided_suffix"]
    for name, wording in (
        ("opencompass-zh", Wording(stated["zh"], None)),
        ("opencompass-en", Wording(stated["en"], None)),
        ("gkamradt-openai", Wording(None, tuple(chats["openai_chat"]))),
        ("gkamradt-cohere", Wording(None, tuple(chats["cohere_chat"]))),
        ("gkamradt-anthropic", Wording(chats["anthropic_text"], None)),
    ):
        assert library(name).wordings == {"end": wording}, name
    chinese, english = library("opencompass-zh"), library("opencompass-en")
    assert chinese.guide_rule("opencompass") == GuideRule("请按照", stated["guide_zh"])
    assert english.guide_rule("opencompass") == GuideRule("Please answer in the format", stated["guide_en"])
    assert chinese.guide_rule("opencompass-processed") == GuideRule(append=suffix)


# The user's own -----------------------------------------------------------------------------------------------------

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


def problems_in(folder: Path, text: str) -> list[str]:
    file = folder / "my.toml"
    file.write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(RecipeError) as caught:
        read_template_file(str(file))
    return [problem.removeprefix(str(file)) for problem in caught.value.problems]


def test_a_file_defines_the_names_that_its_tables_share(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(MINE, "utf-8")
    name, tables = read_template_file(str(file))
    assert (name, list(tables)) == ("mine", ["mine-en", "mine-zh"])
    own = own_templates(tables, [])
    assert (template_for("mine", "zh", own), template_for("mine", "fr", own)) == (own["mine-zh"], None)
    assert (own["mine-en"].forms(), set(own["mine-zh"].wordings)) == (("text", "chat"), {"end", "start"})
    assert {"mine", "mine-en", "niah"} <= set(template_names(own))
    assert set(template_family("mine", own)) == {"mine-en", "mine-zh"}
    (problem,) = problems_in(tmp_path, MINE + '[other]\nlanguage = "en"\ntext = "{context} {question}"\n')
    assert problem.startswith(": has templates mine, other; say which, such as ")
    for choice, chosen in (("mine", ["mine-en", "mine-zh"]), ("mine-zh", ["mine-zh"]), ("other", ["other"])):
        assert list(read_template_file(f"{file}#{choice}")[1]) == chosen
    with pytest.raises(RecipeError, match="has no template 'othr'; did you mean 'other'"):
        read_template_file(f"{file}#othr")
    assert list(map(is_file, ("my.toml", "a/b.toml#x", "niah", "niah-en", 3, None))) == [True] * 2 + [False] * 4


BOTH = 'language = "en"\ntext = "{context}{question}"'


@each(
    ("text", "message"),
    [
        ("", "has no template"),
        ("mine = 3", "[mine]: expected a table with language, text, chat, start, both, guide; found 3"),
        ("[mine", "cannot be read as TOML"),
        ("\udcff", "cannot be read as TOML"),
        (f'["a b"]\n{BOTH}', "expected a name of at most 64 letters"),
        (f"[niah]\n{BOTH}", "a template of the package has this name"),
        (f"[gkamradt-openai-en]\n{BOTH}", "a template of the package has this name"),
        (f"\n[a-zh]\n{BOTH}", ":2: [a-zh].language: is 'en', but the name ends in another; change one of them"),
        (f"[m]\n{BOTH}\ntexts = 1", "[m].texts: unknown field; did you mean 'text'?"),
        ('[m]\nlanguage = "de"', "[m].language: expected one of en, zh, ar, es, fr, ja; found 'de'"),
        ('[m]\nlanguage = "en"\nchat = [{role = "robot", content = "x"}]', "[m].chat[1].role: expected one of system"),
        ('[m]\nlanguage = "en"\nchat = [{role = "user"}]', "[m].chat[1].content: expected a text; found None"),
        (f"{MINE}[mine]\n{BOTH}", "clashes with [mine], which is for every language"),
        ('[m]\nlanguage = "en"\ntext = "{context}"', "[m].text: expected {context} once"),
        ('[m]\nlanguage = "en"\nchat = []', "[m].chat: expected a list, not empty; found []"),
        ('[m]\nlanguage = "en"\nchat = ["x"]', "[m].chat[1]: expected a table with role, content; found 'x'"),
        ('[m]\nlanguage = "en"\nstart = 3', "[m.start]: expected a table with text, chat; found 3"),
        ('[m]\nlanguage = "en"\nstart = {}', "[m.start]: has neither text nor chat"),
        *((f"[mine-en]\n{BOTH}\nguide = {guide}", "[mine-en.guide]") for guide in (
            "3", "{d = 3}", "{d = {}}", '{d = {split = "a"}}', '{n = {append = "a", split = "b", insert = ""}}',
            '{n = {append = "a", more = "b"}}', '{n = {split = "", insert = "b"}}')),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_an_explanation(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=r"my\.toml: no such file"):
        read_template_file(str(tmp_path / "my.toml"))
    assert any(message in problem for problem in problems_in(tmp_path, text))


def test_a_system_message_needs_a_chat_and_never_replaces_the_context() -> None:
    assert "--chat" in str(wrong_system(library("niah-en"), "text"))
    assert wrong_system(library("niah-en"), "chat") is wrong_system(library("gkamradt-openai"), "chat") is None
    chat = [{"role": "system", "content": "Read: {context}"}, {"role": "user", "content": "{question}"}]
    own = own_templates({"mine-en": {"language": "en", "chat": chat}}, [])
    message = "the system message of template 'mine-en' holds {context} or {question} and cannot be replaced"
    assert message in str(wrong_system(own["mine-en"], "chat"))


QUESTION = 'Which of "these" is {it}?\n'
FORMS: tuple[PromptForm, ...] = ("text", "chat")


def whole(prompt: str | list[Message]) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)


@each("name", sorted(template_library()))
@each("form", FORMS)
@each("context", ["", "a context", "with {question} and {context} in it", "\n文档\n"])
def test_every_template_holds_context_and_question_once(name: str, form: PromptForm, context: str) -> None:
    around = make_frame(library(name), form, "native", False, QUESTION)
    prompt = filled(around, context)
    assert isinstance(prompt, str if form == "text" else list)
    text = whole(prompt)
    assert context in text
    assert text.count(QUESTION) == 1
    assert text.count("{context}") == context.count("{context}")
    assert text.count("{question}") == context.count("{question}")
    holder = text if isinstance(prompt, str) else prompt[around.hole]["content"]
    assert holder == around.before + context + around.after
