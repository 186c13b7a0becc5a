"""Reads a recipe (TOML, preset, mapping) into a Recipe, or reports everything that is wrong with it at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeGuard

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import corpus_language
from niah_gen.errors import RecipeError, ResourceError, suggestion
from niah_gen.fields import Fields, Parser, WrongValueError, checked, parse_text, read_toml
from niah_gen.haystacks.placement import SPREADS
from niah_gen.recipe.part import DEFAULT_CORPORA, SHARED_FIELDS, Modules, PartReader, Tell, settings_of, wrong_prompts
from niah_gen.recipe.recipe import (
    Part,
    Recipe,
    parse_depths,
    parse_names,
    parse_slug,
    preset_names,
    preset_text,
    stated,
)
from niah_gen.tasks.base import Task, item_ids
from niah_gen.tasks.needle import SINGLE
from niah_gen.tasks.needle_library import needle_files
from niah_gen.tasks.registry import chosen_task, find_task
from niah_score.contract import PromptForm

# Of parts, and of needles, lengths, depths or corpora in one list.
_MOST_PARTS, _MOST_ITEMS = 1000, 10_000
_LISTS = ("lengths", "depths", "needles", "corpora", "control_depths", "languages")

# The shortest length that holds worlds of levels 2 and 3 in every language, and what these take at most, in tokens.
_SHORTEST = 2000
_MOST_TOKENS = {2: 1500, 3: 1700}

# How many of a language's single needles replace those that a preset has in English and Chinese.
_REPLACEMENTS = 3
_parse_form: Parser[PromptForm] = checked("text or chat", lambda value: value in ("text", "chat"))

Table = Mapping[str, Any]


def load_recipe(
    source: str | Path | Table | Recipe,
    overrides: Table | None = None,
    *,
    here: bool = True,
    task_modules: Collection[str] = (),
    notice: Tell | None = None,
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
    overrides = dict(overrides or {})
    chosen = overrides.pop("parts", None)
    _refuse_long(raw, overrides, where)
    allowed = None if here else task_modules
    problems: list[str] = []
    tell = notice or (lambda sentence: None)
    about_files = (lambda sentence: None) if isinstance(source, Recipe) else tell
    listed = raw.pop("parts", None)
    tables: dict[str | None, Table] = {None: raw} if listed is None else _part_tables(listed, problems, where)
    if chosen is not None:
        tables = _chosen_parts(tables, chosen, where)
    general = {key: value for key, value in overrides.items() if key.split(".")[0] != "parts"}
    acting = {name: _acting(overrides, name) for name in tables}
    for key in sorted(overrides.keys() - general.keys()):
        if not any(key.startswith(f"parts.{name}.") for name in tables):
            near = suggestion(key.removeprefix("parts.").split(".")[0], filter(None, tables))
            problems.append(f"{key}: expected parts.NAME.FIELD, with the name of a part{near}")
    whole = Fields(overridden(raw, general, allowed), problems)
    base: Table = {}
    if listed is not None:
        base = raw
        shared = [
            f"parts.{name}.{key}" for name in tables for key in {**tables[name], **acting[name]} if key in SHARED_FIELDS
        ]
        problems += [f"{key}: belongs to the whole recipe; write it above the parts" for key in shared]
        if "task" in general:
            problems.append("task: every part of this recipe has its own; write parts.NAME.task")
    families = {name: _family({**base, **table, **acting[name]}.get("task"), allowed) for name, table in tables.items()}
    parts: list[Part] = []
    wrong: dict[str | None, list[str]] = {}
    for name, family in families.items():
        usable = {field: value for field, value in base.items() if _can_use(family, field)}
        useful = {
            field: value for field, value in general.items()
            # An override that no part can use goes to all of them, which then report it.
            if _can_use(family, field) or not any(_can_use(other, field) for other in families.values())
        }  # fmt: skip
        table = overridden({**usable, **tables[name]}, {**useful, **acting[name]}, allowed)
        asks_depths = any(key.split(".")[0] == "depths" for key in (*useful, *acting[name]))
        if asks_depths and _has_worlds(family) and isinstance(options := table.get("options", {}), Mapping):
            table["options"] = {**options, **_as_records(table["depths"])}
        parts.append(PartReader(name, table, wrong.setdefault(name, []), about_files, allowed).part())
    for problem in dict.fromkeys(problem for found in wrong.values() for problem in found):
        having = [name for name, found in wrong.items() if problem in found]
        # A problem of all parts is given once.
        problems += [problem] if len(having) == len(wrong) else [f"parts.{name}.{problem}" for name in having]
    template = next(filter(None, map(parts[0].template_in, parts[0].languages)), None)
    recipe = Recipe(
        **stated(Recipe, whole),
        tokenizer=_tokenizer(whole, here),
        form=whole.take("form", _parse_form, template.forms()[0] if template else "text"),
        parts=tuple(parts),
    )
    prompts = (one for part in parts for one in wrong_prompts(part, recipe.languages or part.languages, recipe.form))
    problems += dict.fromkeys(prompts)
    if problems:
        raise RecipeError(problems, where)
    if not here:
        return recipe
    preset = _is_preset(source)
    if preset and "corpora" in overrides and not any(name.endswith(("needles", "paraphrase")) for name in overrides):
        # Users who bring texts in other languages want questions about them.
        recipe = replace(recipe, parts=tuple(_with_needles_of_corpora(part, tell) for part in recipe.parts))
    if preset:
        recipe = replace(recipe, parts=tuple(_worlds_that_fit(recipe.parts, overrides, chosen is not None, tell)))
    if "corpora" in overrides or recipe.languages or ("corpora" in raw and not preset):
        return recipe
    named = {name for name in tables if "corpora" in acting[name] or ("corpora" in tables[name] and not preset)}
    kept = [one if one.name in named else _without_unasked_corpora(one, tell) for one in recipe.parts]
    return replace(recipe, parts=tuple(kept))


def _worlds_that_fit(parts: Sequence[Part], overrides: Table, chosen: bool, tell: Tell) -> Iterator[Part]:
    """The parts of a preset, as far as their worlds fit its lengths and corpora; `tell` gets what is changed and why.

    `chosen`: whether the user names the parts, which are then kept.
    """
    told_level = any(key.endswith("options.level") for key in overrides)
    own = [spec for part in parts for spec in part.corpora if spec not in DEFAULT_CORPORA]
    smaller: set[str] = set()
    for part in parts:
        if part.task == "associations" and own and not chosen and len(parts) > 1:
            tell(
                f"part {part.name} is left out: nothing says which documents of {own[0]} could answer its questions; "
                f"--parts {part.name} leaves out those that hold a word of an answer, and builds it"
            )
            continue
        level = part.options["level"] if part.has_worlds else 1
        if level > 1 and part.lengths[0] < _SHORTEST and not told_level:
            smaller.add(
                f"with a length below {_SHORTEST:,} tokens, all worlds are of level 1, which take up to 750 tokens; "
                f"those of level {level} take up to {_MOST_TOKENS[level]:,}"
            )
            part = replace(part, options={**part.options, "level": 1})
        yield part
    for sentence in sorted(smaller):
        tell(sentence)


def _part_tables(listed: object, problems: list[str], where: str) -> dict[str | None, Table]:
    """The tables of the [[parts]] of a recipe, by name. Adds what is wrong with their fields to `problems`."""
    if not isinstance(listed, list | tuple) or not listed or not all(isinstance(table, Mapping) for table in listed):
        raise RecipeError(["parts: expected a list of tables, [[parts]], with at least one"], where)
    tables: dict[str | None, Table] = {}
    for number, table in enumerate(listed, 1):
        name = Fields(table, problems, f"parts[{number}]").take("name", parse_slug, f"part-{number}", required=True)
        if name in tables:
            problems.append(f"parts: two are called {name!r}; give each its own name")
        tables[name] = {field: value for field, value in table.items() if field != "name"}
    return tables


def _chosen_parts(tables: Mapping[str | None, Table], chosen: object, where: str) -> dict[str | None, Table]:
    """The parts of a recipe that an override names. Raises RecipeError if there are no such parts."""
    try:
        names = parse_names(chosen)
    except WrongValueError as error:
        raise RecipeError([f"parts: {error}"], where) from None
    known = [name for name in tables if name]
    problems = [f"parts: no part {name!r}{suggestion(name, known)}" for name in names if name not in known]
    if problems:
        raise RecipeError(problems if known else ["parts: the recipe has none"], where)
    return {name: table for name, table in tables.items() if name in names}


def _has_worlds(family: Task | None) -> bool:
    return family is not None and "worlds" in {one.name for one in fields(family.options)}


def _as_records(depths: object) -> dict[str, int]:
    """The option of worlds that depths ask for: as many records, which stand at equally spaced depths."""
    try:
        return {"records": len(parse_depths(depths))}
    except WrongValueError:
        return {}  # the reader reports it


def _acting(overrides: Table, name: str | None) -> dict[str, Any]:
    """The overrides of one part, given as `parts.NAME.FIELD`."""
    prefix = f"parts.{name}."
    return {key.removeprefix(prefix): value for key, value in overrides.items() if key.startswith(prefix)}


def _family(task: object, allowed: Modules) -> Task | None:
    """The family that a part names, one of those that needles decide between if it names none; None if unknown."""
    try:
        return find_task(str(task), allowed=allowed) if task else SINGLE
    except RecipeError:
        return None  # the reader reports it


def _can_use(family: Task | None, field: str) -> bool:
    if family is None:
        return True
    if field.startswith("options."):
        return field.split(".")[1] in {one.name for one in fields(family.options)}
    if field in ("needles", "paraphrase"):
        return family.hides_needles
    return field != "corpora" or family.corpus is None


def overridden(raw: Table, overrides: Table, allowed: Modules) -> dict[str, Any]:
    """A raw recipe with some fields replaced, and without the fields that only made sense with the replaced ones.

    `allowed`: as for `find_task`.
    """
    gone: set[str] = set()
    if "placement" in overrides:
        gone |= {"spread", "boundary", "leaks", "fresh_haystacks"}
    if "template" in overrides:
        gone.add("templates")
    if "task" in overrides:
        gone.add("spread")
    if overrides.get("spread", "even") not in SPREADS and not any(name.startswith("depths") for name in overrides):
        gone.add("depths")  # depths of all needles include the first one's
    if "task" in overrides and overrides["task"] != raw.get("task"):
        family = _family(overrides["task"], allowed)
        gone |= {"options", "controls", *(name for name in raw if not _can_use(family, name))}
    table = {name: value for name, value in raw.items() if name not in gone}
    if "diff" in overrides:
        table["spread"] = "diff"
    for name, value in overrides.items():
        inner = table
        *parents, last = name.split(".")
        for parent in parents:
            inner[parent] = dict(inner[parent]) if isinstance(inner.get(parent), dict) else {}
            inner = inner[parent]
        inner[last] = value
    return table


def _tokenizer(table: Fields, here: bool) -> str:
    from niah_gen.tokenizers.find import encoding_name, tokenizer_path

    spec: str = table.take("tokenizer", parse_text, "cl100k_base")
    with table.about("tokenizer"):
        encoding = encoding_name(spec)
        if encoding is None and here:
            tokenizer_path(spec)
        return encoding or spec
    return spec


def _raw(source: str | Path | Table | Recipe) -> tuple[dict[str, Any], str]:
    if isinstance(source, Recipe):
        return source.table(), f"recipe {source.name!r}"
    if isinstance(source, Mapping):
        return dict(source), "recipe"
    if _is_preset(source):
        return tomllib.loads(preset_text(source)), f"preset {source!r}"
    path = Path(source)
    if path.suffix != ".toml" and not os.path.isfile(path):
        near = suggestion(str(source), preset_names())
        raise RecipeError([f"{str(source)!r} is neither a preset nor a .toml file{near}"])
    return {"name": path.stem, **read_toml(path)[1]}, str(path)


def _refuse_long(raw: Table, overrides: Table, where: str) -> None:
    """Raise ResourceError for a recipe whose lists would take minutes to read."""
    parts = raw.get("parts")
    tables = [raw, overrides, *(parts if isinstance(parts, list | tuple) else ())]
    for name, value in (pair for table in tables if isinstance(table, Mapping) for pair in table.items()):
        items = value.split(",") if isinstance(value, str) and name.rpartition(".")[2] in _LISTS else value
        most = _MOST_PARTS if name == "parts" else _MOST_ITEMS
        if isinstance(items, list | tuple) and len(items) > most:
            raise ResourceError(f"{where}: {name} lists {len(items):,}; a recipe may list {most:,}: split it")


def _is_preset(source: object) -> TypeGuard[str]:
    return isinstance(source, str) and source in preset_names()


def _without_unasked_corpora(part: Part, tell: Tell) -> Part:
    """A part without the corpora in whose language it has no items; `tell` gets a sentence about them.

    So a recipe with needles in one language reads only that language's corpora. A part is not changed if it
    asks nothing over any of its corpora: planning then reports what does not fit.
    """
    task = chosen_task(part.task, part.options)
    settings = settings_of(part, task)
    languages = {spec: locate(spec).declaration.language for spec in part.corpora}
    silent = [spec for spec, code in languages.items() if code and not item_ids(task, settings, code)]
    if not silent or len(silent) == len(languages):
        return part
    codes = ", ".join(dict.fromkeys(str(languages[spec]) for spec in silent))
    what = "no needle is" if task.hides_needles else f"task {task.name!r} asks nothing"
    where = f"part {part.name}: " if part.name else ""
    tell(f"{where}left out {', '.join(silent)}: {what} in {codes}")
    return replace(part, corpora=tuple(spec for spec in part.corpora if spec not in silent))


def _with_needles_of_corpora(part: Part, tell: Tell) -> Part:
    """A part of single facts, with needles of the library added for each language of its corpora that has none.

    `tell` gets a sentence about them. The part then keeps only needles in the languages of its corpora.
    """
    task = chosen_task(part.task, part.options)
    if not task.hides_needles or not part.placing.native:
        return part
    known = {needle.language for needle in part.needles}
    languages = dict.fromkeys(corpus_language(locate(spec)) for spec in part.corpora)
    missing = [code for code in languages if code not in known and f"single-{code}" in needle_files()]
    if not missing or any(len(needle.needles) > 1 for needle in part.needles):
        return part
    added = [
        needle.asked(False).for_use(part.controls, part.question_language)
        for code in missing
        for needle in needle_files()[f"single-{code}"][:_REPLACEMENTS]
    ]
    tell(f"added {', '.join(needle.id for needle in added)}: the preset has no needle in {', '.join(missing)}")
    kept = [needle for needle in part.needles if needle.language in languages]
    return replace(part, needles=(*kept, *added))
