"""Reads a recipe (TOML, preset, mapping) into a Recipe, or reports everything that is wrong with it at once."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from niah_gen.errors import RecipeError, ResourceError, TokenizerError, suggestion
from niah_gen.prompts.own_templates import wrong_system
from niah_gen.recipe.overrides import overridden
from niah_gen.recipe.part_tables import SHARED_FIELDS, part_tables, read_parts
from niah_gen.recipe.presets import preset_names, preset_text
from niah_gen.recipe.read_part import PART_FIELDS, Fields, PartReader, wrong_position
from niah_gen.recipe.recipe import CORPUS_WHOLE, Part, Recipe
from niah_gen.recipe.unasked import with_needles_of_corpora, without_unasked_corpora
from niah_gen.recipe.values import (
    one_of,
    parse_boolean,
    parse_languages,
    parse_pins,
    parse_slug,
    parse_text,
    parse_version,
    whole,
)
from niah_score.contract import PromptForm, parse_toml

FORMS = ("text", "chat")
_MOST_BYTES = 2**50
# The most bytes of a recipe; presets have a few thousand.
_MOST_RECIPE = 16 * 2**20
# Of parts, and of needles, lengths, depths or corpora in one list.
MOST_PARTS, MOST_ITEMS = 1000, 10_000
_LISTS = ("lengths", "depths", "needles", "corpora", "control_depths", "languages")
_MOST_STEPS = 64
FIELDS = (*SHARED_FIELDS, *PART_FIELDS)


def load_recipe(
    source: str | Path | Mapping[str, Any] | Recipe,
    overrides: Mapping[str, Any] | None = None,
    *,
    here: bool = True,
    task_modules: Collection[str] = (),
    notice: Callable[[str], None] | None = None,
) -> Recipe:
    """A recipe from a preset's name, a TOML file, a mapping, or a recipe; `overrides` replace fields before checking.

    An override's name may be dotted (`depths.steps`). In a recipe with parts it replaces the field in every part that
    can use it, or only in one (`parts.NAME.weight`). `here`: the corpora, the tokenizer and the task family must be on
    this machine; a user's own family may be in the working folder. Otherwise, as for the recipe of a dataset, a module
    outside the package is imported only if it is one of `task_modules`. `notice` gets sentences about the user's own
    files, and about corpora that are left out because nothing is asked in their language; those that the source or an
    override names are kept. Raises RecipeError with all problems.
    """
    raw, where = _raw(source)
    _refuse_long(raw, overrides or {}, where)
    allowed = None if here else task_modules
    problems: list[str] = []
    overrides = dict(overrides or {})
    tables = part_tables(raw, problems, overrides)
    if "parts" in raw:
        del raw["parts"]
        if not tables:
            raise RecipeError(problems, where)
        if "task" in overrides:
            problems.append("task: every part of this recipe has its own; write parts.NAME.task")
    if "parts" in overrides:
        problems.append("parts: cannot be replaced as a whole; write parts.NAME.FIELD, or a recipe file")
        del overrides["parts"]
    merged = overridden(raw, overrides, allowed)
    unknown = [name for name in merged if name not in FIELDS]
    problems += [f"{name}: unknown field{suggestion(name, (*FIELDS, 'parts'))}" for name in unknown]
    notes: list[str] = []
    if tables:
        parts = read_parts(tables, raw, overrides, problems, allowed, notes)
    else:
        reader = PartReader(merged, problems, allowed)
        parts = (reader.part(),)
        notes = reader.notes
    recipe = _shared(merged, parts, problems, here)
    if problems:
        raise RecipeError(problems, where)
    if notice is not None and not isinstance(source, Recipe):
        for sentence in dict.fromkeys(notes):
            notice(sentence)
    if not here:
        return recipe
    if _is_preset(source) and "corpora" in overrides and not _names_needles(overrides):
        # Users who bring texts in other languages want questions about them.
        parts = tuple(with_needles_of_corpora(part, notice) for part in recipe.parts)
        recipe = replace(recipe, parts=parts)
    if "corpora" in overrides or (not _is_preset(source) and "corpora" in raw):
        return recipe
    named = {table.name for table in tables if not _is_preset(source) and "corpora" in {**table.own, **table.overrides}}
    parts = tuple(
        part if part.name in named else without_unasked_corpora(part, recipe.languages, notice) for part in recipe.parts
    )
    return replace(recipe, parts=parts)


def _names_needles(overrides: Mapping[str, Any]) -> bool:
    return any(name.split(".")[-1] in ("needles", "paraphrase") for name in overrides)


def _shared(raw: Mapping[str, Any], parts: tuple[Part, ...], problems: list[str], here: bool) -> Recipe:
    """The fields of a recipe that all parts share."""
    reader = Fields(raw, problems)
    known = next(filter(None, map(parts[0].template_in, parts[0].languages)), None)
    form = reader.take("form", one_of(FORMS), str(known.forms()[0]) if known else "text")
    asked: PromptForm = "chat" if form == "chat" else "text"
    languages: tuple[str, ...] = reader.take("languages", parse_languages, ())
    for part in parts:
        wrong = wrong_system(part.template, part.templates, asked) if part.system else []
        wrong += wrong_position(part, languages or part.languages)
        problems += [problem for problem in wrong if problem not in problems]
    return Recipe(
        name=reader.take("name", parse_slug, "dataset"),
        version=reader.take("version", parse_version, "1.0.0"),
        tokenizer=_tokenizer(reader, here),
        form=asked,
        languages=languages,
        parts=parts,
        pins=reader.take("pins", parse_pins, ()),
        corpus_whole=reader.take("corpus_whole", whole(0, _MOST_BYTES), CORPUS_WHOLE),
        corpus_draw=reader.take("corpus_draw", whole(0, _MOST_BYTES), 0),
        allow_repeats=reader.take("allow_repeats", parse_boolean, False),
    )


def _tokenizer(reader: Fields, here: bool) -> str:
    from niah_gen.tokenizers.find import encoding_name, tokenizer_path

    spec = reader.take("tokenizer", parse_text, "cl100k_base")
    try:
        encoding = encoding_name(spec)
        if encoding is None and here:
            tokenizer_path(spec)
    except TokenizerError as error:
        reader.problems.append(str(error))
        return spec
    return encoding or spec


def _raw(source: str | Path | Mapping[str, Any] | Recipe) -> tuple[dict[str, Any], str]:
    if isinstance(source, Recipe):
        return source.table(), f"recipe {source.name!r}"
    if isinstance(source, Mapping):
        return dict(source), "recipe"
    if _is_preset(source):
        return tomllib.loads(preset_text(source)), f"preset {source!r}"
    path = Path(source)
    if path.suffix != ".toml" and not _is_file(path):
        raise RecipeError(
            [f"{str(source)!r} is neither a preset nor a .toml file{suggestion(str(source), preset_names())}"]
        )
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_RECIPE + 1)
        if len(data) > _MOST_RECIPE:
            raise ResourceError(f"{path}: the recipe has more than {_MOST_RECIPE:,} bytes; put long texts into files")
        raw = parse_toml(data.decode())
    except RecursionError:
        raise RecipeError(["cannot be read as TOML: its brackets are nested too deep"], str(path)) from None
    except FileNotFoundError:
        raise RecipeError([f"{path}: no such file"]) from None
    except (OSError, ValueError) as error:
        raise RecipeError([f"cannot be read as TOML: {error}"], str(path)) from None
    raw.setdefault("name", path.stem)
    return raw, str(path)


def _refuse_long(raw: Mapping[str, Any], overrides: Mapping[str, Any], where: str) -> None:
    """Raise ResourceError for a recipe whose lists would take minutes to read."""
    parts = raw.get("parts")
    if isinstance(parts, list | tuple) and len(parts) > MOST_PARTS:
        raise ResourceError(f"{where}: {len(parts):,} parts; a recipe may have {MOST_PARTS:,}: split it into several")
    tables = [raw, overrides, *(part for part in parts or () if isinstance(part, Mapping))]
    for name, value in ((name, value) for table in tables for name, value in table.items()):
        items = value.split(",") if isinstance(value, str) and name.rpartition(".")[2] in _LISTS else value
        if name != "parts" and isinstance(items, list | tuple) and len(items) > MOST_ITEMS:
            raise ResourceError(f"{where}: {name} lists {len(items):,}; a recipe may list {MOST_ITEMS:,}: split it")
        if name.count(".") > _MOST_STEPS:
            raise ResourceError(f"{where}: {name[:40]}...: a field of more than {_MOST_STEPS} steps")


def _is_preset(source: object) -> TypeGuard[str]:
    return isinstance(source, str) and source in preset_names()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a path, or a NUL in it
        return False
