"""Declares the flags that describe a recipe, and reads them into one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from niah_gen.recipe.recipe import Recipe

RecipeArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[PRESET|RECIPE.toml]",
        help="A preset's name or a recipe file; default, or plain where --needle, --placement, --spread, --diff or "
        "--paraphrase say what a row is.",
    ),
]
NameOption = Annotated[
    str | None, typer.Option("--name", help="Name of the dataset and its folder, instead of the recipe's.")
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
TemplateOption = Annotated[
    str | None,
    typer.Option("--template", help="Prompt template: a name, or a file of your own (my.toml, my.toml#name)."),
]
SystemOption = Annotated[str | None, typer.Option("--system", help="What the system message of each chat says.")]
SystemFileOption = Annotated[
    Path | None,
    typer.Option("--system-file", help="A text file with what --system says; line ends at its end are cut."),
]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", help="Only corpora of this language, such as en, zh or fr.")
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
QuestionLanguageOption = Annotated[
    str | None, typer.Option("--question-language", help="Ask in this language about texts in another, such as en.")
]
GuideOption = Annotated[
    bool | None, typer.Option("--guide/--no-guide", help="Ask to consider the relevant text first, where published.")
]
FormOption = Annotated[bool | None, typer.Option("--chat/--text", help="Prompts as chat messages or as one text.")]
RepeatingOption = Annotated[
    bool | None,
    typer.Option("--allow-repeats", help="Let a corpus be gone through more than once to fill a length."),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any recipe field, such as depths.steps=5.")
]


# Fields that say what the rows are, so that they cannot be those of the several parts of `default`.
_OF_ONE_KIND = frozenset({"task", "needles", "placement", "spread", "diff", "paraphrase"})


def recipe_of(flags: dict[str, Any], notice: Callable[[str], None]) -> Recipe:
    """The recipe that a command's flags, by the names of its parameters, ask for.

    `notice` is told what a user should know about it, a sentence at a time. Raises RecipeError.
    """
    from niah_gen.recipe.read import load_recipe

    overrides = _overrides(flags)
    usual = "plain" if _OF_ONE_KIND & overrides.keys() else "default"
    return load_recipe(flags["recipe"] or usual, overrides, notice=notice)


def _overrides(flags: dict[str, Any]) -> dict[str, Any]:
    """Recipe fields that command line flags replace."""
    fields = {
        "name": "name", "length": "lengths", "depths": "depths", "repeats": "repeats", "corpus": "corpora",
        "needle": "needles", "tokenizer": "tokenizer", "placement": "placement", "template": "template",
        "language": "languages", "reserve": "reserve", "diff": "diff", "spread": "spread",
        "question": "question_position", "paraphrase": "paraphrase", "guide": "guide",
        "question_language": "question_language", "system": "system", "allow_repeats": "allow_repeats",
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
    if flags["system_file"] is not None:
        if flags["system"] is not None:
            raise typer.BadParameter("give this or --system, not both", param_hint="--system-file")
        found["system"] = _text_in(flags["system_file"])
    for item in flags["set_"] or ():
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--set")
        found[key.strip()] = _toml_value(value.strip())
    return found


def _text_in(path: Path) -> str:
    """A text file without the line ends at its end."""
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise typer.BadParameter(f"{path}: cannot be read: {why}", param_hint="--system-file") from None
    if not text.strip():
        raise typer.BadParameter(f"{path}: holds no text", param_hint="--system-file")
    return text


def _toml_value(text: str) -> Any:
    """A value as TOML reads it; a bare word is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
