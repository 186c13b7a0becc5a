"""Defines the commands that take a recipe, build and plan, with the table of its flags; and merge."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option, echo

import niah_gen
from niah_gen.cli.reporting import notice
from niah_gen.errors import RecipeError
from niah_gen.progress import ProgressBar
from niah_gen.recipe.recipe import preset_names
from niah_score.machine.stores import is_address

# The flags that replace fields of a recipe: the field, the type of the value, and the help.
_FLAGS: dict[str, tuple[str, Any, str]] = {
    "--name": ("name", str, "Name of the dataset and its folder, instead of the recipe's."),
    "--length": ("lengths", str, "In tokens. 8k: 2k, 4k and 8k; 1k:8k:1k: even steps; 8000 or 1k,3k: exactly those."),
    "--depths": ("depths", str, "In percent, such as 0,50,100; of worlds, as many records at equal distances."),
    "--repeats": ("repeats", int, "Rows per cell, each with its own filler."),
    "--corpus": ("corpora", list[str], "Corpus name, name/file, or path; several times for more."),
    "--needle": ("needles", list[str], "Needle, library file (list-en), or file.toml[#name]; several times for more."),
    "--parts": ("parts", list[str], "Only these parts of the recipe, such as records,moves."),
    "--level": ("options.level", int, "Of worlds: 1 (small), 2, or 3 (hard)."),
    "--worlds": ("options.worlds", int, "Worlds of each part in each language; the first eight have eight schemas."),
    "--rows-per-context": ("options.rows_per_context", int, "Questions asked over each world; 0 for all."),
    "--split": ("options.split", str, "Of worlds: train or held-out, which share no schema."),
    "--empty": ("options.empty", str, "Of worlds: varied, 0 to 2 questions without an answer in the text, not one."),
    "--tokenizer": ("tokenizer", str, "tiktoken model or encoding, a tokenizer.json, or a local model folder."),
    "--placement": ("placement", str, "native, or a published system's, such as gkamradt or opencompass."),
    "--template": ("template", str, "Prompt template: a name, or your own file (my.toml, my.toml#name)."),
    "--system": ("system", str, "Text of the system message of each chat."),
    "--system-file": ("system", Path, "Text file with the system message; line ends at its end are dropped."),
    "--language": ("languages", list[str], "Only corpora of this language, such as en, zh or fr."),
    "--reserve": ("reserve", int, "Tokens of the length left for the answer."),
    "--diff": ("diff", float, "Depth between the needles of a set, in percent."),
    "--spread": ("spread", str, "Where the needles of a set go: even, diff, random, apart, or their depths (10,50)."),
    "--question": ("question_position", str, "Where the question goes: end, start or both (our templates)."),
    "--paraphrase/--no-paraphrase": ("paraphrase", bool, "Ask the needles' questions in other words."),
    "--question-language": ("question_language", str, "Ask in this language about texts in another, such as en."),
    "--guide/--no-guide": ("guide", bool, "Ask to consider the relevant text first, if the template has a rule."),
    "--chat/--text": ("form", bool, "Prompts as chat messages or as one text."),
    "--allow-repeats": ("allow_repeats", bool, "Let a corpus be repeated to fill a length."),
}  # fmt: skip
_RECIPE = "A preset or a recipe file. By default, plain with --needle, --placement, --spread, --diff or --paraphrase, \
otherwise default."
_RAY_ADDRESS = "The Ray cluster, or auto; by default $RAY_ADDRESS, or one started for the build."
_DETECT = "Say how many worlds niah-score gate needs to find such a drop."
# Fields that say what every row is, so they do not go with the several parts of `default`.
_OF_ONE_KIND = frozenset({"task", "needles", "placement", "spread", "diff", "paraphrase"})


def _parameter(flag: str) -> str:
    return flag.split("/")[0].removeprefix("--").replace("-", "_")


def _parameters() -> dict[str, Parameter]:
    """The parameters from which typer makes the flags of a recipe, by name; all are None by default."""
    recipe = Argument(metavar="[PRESET|RECIPE.toml]", help=_RECIPE)
    setting = Option("--set", metavar="KEY=VALUE", help="Any recipe field, such as depths.steps=5.")
    kinds: dict[str, Any] = {"recipe": Annotated[str | None, recipe]}
    kinds |= {
        _parameter(flag): Annotated[kind | None, Option(flag, help=says)] for flag, (_, kind, says) in _FLAGS.items()
    }
    kinds["set_"] = Annotated[list[str] | None, setting]
    return {
        name: Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in kinds.items()
    }


def takes_recipe(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command so that it takes the flags of a recipe before its own, as a dict in its first parameter.

    Typer reads them from the signature.
    """
    of_recipe = _parameters()
    own = list(signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def run(**values: Any) -> None:
        flags = {name: values.pop(name) for name in of_recipe}
        try:
            command(flags, **values)
        except RecipeError as error:
            # What only shows while rows are planned names no file.
            if error.source != "recipe" or flags["recipe"] in (None, *preset_names()):
                raise
            raise RecipeError(error.problems, flags["recipe"]) from None

    run.__signature__ = Signature([*of_recipe.values(), *own])  # type: ignore[attr-defined]
    return run


@takes_recipe
def build(
    flags: dict[str, Any],
    *,
    format_: Annotated[str, Option("--format", help="parquet, jsonl, jsonl.gz, jsonl.zst; with commas.")] = "parquet",
    out: Annotated[str, Option(help="Folder to make dataset folders in, or an address such as s3://b/niah.")] = "build",
    jobs: Annotated[int | None, Option(help="Worker processes; by default chosen by size.")] = None,
    engine: Annotated[str, Option(help="processes, or ray (on a Ray cluster; needs niah-kit[ray]).")] = "processes",
    ray_address: Annotated[str | None, Option(metavar="HOST:PORT", help=_RAY_ADDRESS)] = None,
    shard: Annotated[str | None, Option(metavar="I/N", help="Write only every Nth file; merge completes them.")] = None,
) -> None:
    """Build a dataset folder and print its path."""
    from niah_gen.dataset.complete import PARTIAL

    formats = [part.strip() for part in format_.split(",") if part.strip()]
    with ProgressBar() as bar:
        make = niah_gen.build_at if is_address(out) else niah_gen.build
        folder = make(
            recipe_of(flags, notice), out, formats=formats, jobs=jobs, engine=engine, ray_address=ray_address,
            shard=_shard(shard), progress=bar, notice=notice,
        )  # fmt: skip
    if shard and str(folder).endswith(PARTIAL):
        notice(f"shard {shard} is written; once all are, run `niah-gen merge {folder}`")
    echo(str(folder))


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    # At most nine digits: more shards than anybody has.
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not match:
        raise BadParameter(f"{text!r}: expected I/N, such as 1/4", param_hint="--shard")
    return int(match[1]), int(match[2])


def merge(
    folder: Annotated[str, Argument(metavar="DIR", help="The folder or address that `build --shard` printed.")],
) -> None:
    """Check all parts that build --shard wrote, and complete the dataset."""
    echo(str((niah_gen.merge_at if is_address(folder) else niah_gen.merge)(folder, notice=notice)))


@takes_recipe
def plan(
    flags: dict[str, Any],
    *,
    detect: Annotated[float | None, Option(metavar="POINTS", help=_DETECT)] = None,
    power: Annotated[float, Option(help="Of --detect: the share of gates that must find the drop.")] = 0.9,
    alarm: Annotated[float, Option(help="Of --detect: the share of gates that may fail by chance.")] = 0.01,
) -> None:
    """Show what build would make: rows, tokens, bytes, time. Builds nothing."""
    from niah_gen.rows.assemble import check_fit
    from niah_gen.rows.forecast import detecting, forecast, foreseen
    from niah_gen.rows.plan import make_plan

    notes: list[str] = []
    planned = make_plan(recipe_of(flags, notes.append))
    check_fit(planned)
    needed = [] if detect is None else list(detecting(planned, detect, alarm, power))
    echo("\n".join([*forecast(planned, [*notes, *foreseen(planned)]), *needed]))


def recipe_of(flags: dict[str, Any], tell: Callable[[str], None]) -> niah_gen.Recipe:
    """The recipe that flags ask for; `tell` gets each sentence that the user should know about it.

    Raises RecipeError.
    """
    overrides = _overrides(flags)
    preset = "plain" if _OF_ONE_KIND & overrides.keys() else "default"
    return niah_gen.load_recipe(flags["recipe"] or preset, overrides, notice=tell)


def _overrides(flags: dict[str, Any]) -> dict[str, Any]:
    """The recipe fields that flags replace."""
    overrides: dict[str, Any] = {}
    for flag, (field, _, _) in _FLAGS.items():
        value = flags[_parameter(flag)]
        if isinstance(value, list):
            value = [part.strip() for item in value for part in item.split(",")] or None
        if value is None:
            continue
        if field in overrides:
            raise BadParameter("give this or --system, not both", param_hint=flag)
        if field == "form":
            value = "chat" if value else "text"
        overrides[field] = _text_in(value) if isinstance(value, Path) else value
    for item in flags["set_"] or ():
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise BadParameter(f"{item!r}: expected KEY=VALUE", param_hint="--set")
        overrides[key.strip()] = _toml_value(value.strip())
    return overrides


def _text_in(path: Path) -> str:
    """The content of a text file, without the line ends at its end."""
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadParameter(f"{path}: cannot be read: {why}", param_hint="--system-file") from None
    if not text.strip():
        raise BadParameter(f"{path}: holds no text", param_hint="--system-file")
    return text


def _toml_value(text: str) -> Any:
    """A value as TOML reads it; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
