"""Declares the flags that describe a recipe, and makes a recipe of them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from niah_gen.recipe.recipe import Recipe


def recipe_flags(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="[PRESET|RECIPE.toml]",
            help="A preset's name or a recipe file. By default, plain if --needle, --placement, --spread, --diff or "
            "--paraphrase is given, otherwise default.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the dataset and its folder, instead of the recipe's.")
    ] = None,
    length: Annotated[
        str | None,
        typer.Option("--length", help="In tokens. 8k: eight even lengths up to it; 8000 or 1k,2k,4k: exactly those."),
    ] = None,
    depths: Annotated[str | None, typer.Option("--depths", help="Depths in percent, such as 0,50,100.")] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", help="Rows per cell, each with its own filler.")] = None,
    corpus: Annotated[
        list[str] | None, typer.Option("--corpus", help="Corpus name, name/file, or path; may be given several times.")
    ] = None,
    needle: Annotated[
        list[str] | None,
        typer.Option(
            "--needle", help="Needle, library file (list-en), or file.toml[#name]; may be given several times."
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", help="tiktoken model or encoding, a tokenizer.json, or a local model folder."),
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option("--placement", help="native, or a published system's, such as gkamradt or opencompass."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option("--template", help="Prompt template: a name, or your own file (my.toml, my.toml#name)."),
    ] = None,
    system: Annotated[str | None, typer.Option("--system", help="Text of the system message of each chat.")] = None,
    system_file: Annotated[
        Path | None,
        typer.Option("--system-file", help="Text file with the system message; line ends at its end are dropped."),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", help="Only corpora of this language, such as en, zh or fr.")
    ] = None,
    reserve: Annotated[int | None, typer.Option("--reserve", help="Tokens of the length left for the answer.")] = None,
    diff: Annotated[
        float | None, typer.Option("--diff", help="Depth between the needles of a set, in percent.")
    ] = None,
    spread: Annotated[
        str | None,
        typer.Option(
            "--spread", help="Where the needles of a set go: even, diff, random, apart, or their depths (10,50,90)."
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", help="Where the question goes: end, start or both (our templates).")
    ] = None,
    paraphrase: Annotated[
        bool | None, typer.Option("--paraphrase/--no-paraphrase", help="Ask the needles' questions in other words.")
    ] = None,
    question_language: Annotated[
        str | None,
        typer.Option("--question-language", help="Ask in this language about texts in another, such as en."),
    ] = None,
    guide: Annotated[
        bool | None,
        typer.Option(
            "--guide/--no-guide", help="Ask to consider the relevant text first, if the template has a rule for it."
        ),
    ] = None,
    chat: Annotated[bool | None, typer.Option("--chat/--text", help="Prompts as chat messages or as one text.")] = None,
    allow_repeats: Annotated[
        bool | None, typer.Option("--allow-repeats", help="Let a corpus be repeated to fill a length.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any recipe field, such as depths.steps=5.")
    ] = None,
) -> dict[str, Any]:
    """The flags that describe a recipe, by the names of these parameters."""
    return dict(locals())


_OF_RECIPE = signature(recipe_flags, eval_str=True).parameters


def takes_recipe(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command so that it takes the flags of a recipe before its own, as a dict in its first parameter.

    Typer reads them from the signature.
    """
    own = list(signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def run(**values: Any) -> None:
        command(recipe_flags(**{name: values.pop(name) for name in _OF_RECIPE}), **values)

    run.__signature__ = Signature([*_OF_RECIPE.values(), *own])  # type: ignore[attr-defined]
    return run


# Fields that say what every row is, so they do not go with the several parts of `default`.
_OF_ONE_KIND = frozenset({"task", "needles", "placement", "spread", "diff", "paraphrase"})


def recipe_of(flags: dict[str, Any], notice: Callable[[str], None]) -> Recipe:
    """The recipe that `recipe_flags` ask for.

    `notice` is called with each sentence that the user should know about it. Raises RecipeError.
    """
    from niah_gen.recipe.read import load_recipe

    overrides = _overrides(flags)
    preset = "plain" if _OF_ONE_KIND & overrides.keys() else "default"
    return load_recipe(flags["recipe"] or preset, overrides, notice=notice)


def _overrides(flags: dict[str, Any]) -> dict[str, Any]:
    """The recipe fields that flags replace."""
    fields = {
        "name": "name", "length": "lengths", "depths": "depths", "repeats": "repeats", "corpus": "corpora",
        "needle": "needles", "tokenizer": "tokenizer", "placement": "placement", "template": "template",
        "language": "languages", "reserve": "reserve", "diff": "diff", "spread": "spread",
        "question": "question_position", "paraphrase": "paraphrase", "guide": "guide",
        "question_language": "question_language", "system": "system", "allow_repeats": "allow_repeats",
    }  # fmt: skip
    overrides: dict[str, Any] = {}
    for flag, field in fields.items():
        value = flags[flag]
        if isinstance(value, list):
            value = [part.strip() for item in value for part in item.split(",")] or None
        if value is not None:
            overrides[field] = value
    if flags["chat"] is not None:
        overrides["form"] = "chat" if flags["chat"] else "text"
    if flags["system_file"] is not None:
        if flags["system"] is not None:
            raise typer.BadParameter("give this or --system, not both", param_hint="--system-file")
        overrides["system"] = _text_in(flags["system_file"])
    for item in flags["set_"] or ():
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--set")
        overrides[key.strip()] = _toml_value(value.strip())
    return overrides


def _text_in(path: Path) -> str:
    """The content of a text file, without the line ends at its end."""
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise typer.BadParameter(f"{path}: cannot be read: {why}", param_hint="--system-file") from None
    if not text.strip():
        raise typer.BadParameter(f"{path}: holds no text", param_hint="--system-file")
    return text


def _toml_value(text: str) -> Any:
    """A value as TOML reads it; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
