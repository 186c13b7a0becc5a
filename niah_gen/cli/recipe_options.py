"""Declares the flags that describe a recipe, and reads them into one."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from niah_gen.recipe.recipe import Recipe

RecipeArgument = Annotated[
    str, typer.Argument(metavar="[PRESET|RECIPE.toml]", help="A preset's name or a recipe file.")
]
LengthOption = Annotated[
    str | None,
    typer.Option("--length", help="8k: eight even lengths up to it; 8000 or 1k,2k,4k: exactly those (tokens)."),
]
DepthsOption = Annotated[str | None, typer.Option("--depths", help="Depths in percent, such as 0,50,100.")]
RepeatsOption = Annotated[int | None, typer.Option("--repeats", help="Rows per cell, each with filler of its own.")]
CorpusOption = Annotated[
    list[str] | None, typer.Option("--corpus", help="Corpus name, name/file, or path; may be given several times.")
]
NeedleOption = Annotated[
    list[str] | None,
    typer.Option("--needle", help="Needle, library file (list-en), or file.toml[#name]; may be given several times."),
]
TokenizerOption = Annotated[
    str | None,
    typer.Option("--tokenizer", help="tiktoken model or encoding, a tokenizer.json, or a local model folder."),
]
PlacementOption = Annotated[
    str | None,
    typer.Option("--placement", help="native, or a published system's, such as gkamradt or opencompass."),
]
TemplateOption = Annotated[str | None, typer.Option("--template", help="Prompt template.")]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", help="Only corpora of this language: en or zh.")
]
ReserveOption = Annotated[int | None, typer.Option("--reserve", help="Tokens of the length left for the answer.")]
DiffOption = Annotated[float | None, typer.Option("--diff", help="Percent of depth between the needles of a set.")]
SpreadOption = Annotated[
    str | None,
    typer.Option("--spread", help="Where the needles of a set stand: even, diff, random, or their depths (10,50,90)."),
]
QuestionOption = Annotated[
    str | None, typer.Option("--question", help="Where the question stands: end, start or both (our templates).")
]
ParaphraseOption = Annotated[
    bool | None, typer.Option("--paraphrase/--no-paraphrase", help="Ask the needles' questions in other words.")
]
GuideOption = Annotated[
    bool | None, typer.Option("--guide/--no-guide", help="Ask to consider the relevant text first, where published.")
]
FormOption = Annotated[bool | None, typer.Option("--chat/--text", help="Prompts as chat messages or as one text.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any recipe field, such as depths.steps=5.")
]


def recipe_of(flags: dict[str, Any]) -> Recipe:
    """The recipe that a command's flags, by the names of its parameters, ask for. Raises RecipeError."""
    from niah_gen.recipe.read import load_recipe

    return load_recipe(flags["recipe"], _overrides(flags))


def _overrides(flags: dict[str, Any]) -> dict[str, Any]:
    """Recipe fields that command line flags replace."""
    fields = {
        "length": "lengths", "depths": "depths", "repeats": "repeats", "corpus": "corpora", "needle": "needles",
        "tokenizer": "tokenizer", "placement": "placement", "template": "template", "language": "languages",
        "reserve": "reserve", "diff": "diff", "spread": "spread", "question": "question_position",
        "paraphrase": "paraphrase", "guide": "guide",
    }  # fmt: skip
    found: dict[str, Any] = {}
    for flag, field in fields.items():
        value = flags[flag]
        if isinstance(value, list):
            value = [part.strip() for item in value for part in item.split(",")] or None
        if value is not None:
            found[field] = value
    if flags["chat"] is not None:
        found["form"] = "chat" if flags["chat"] else "text"
    for item in flags["set_"] or ():
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--set")
        found[key.strip()] = _toml_value(value.strip())
    return found


def _toml_value(text: str) -> Any:
    """A value as TOML reads it; a bare word is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
