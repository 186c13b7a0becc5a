"""Reads the [[parts]] of a recipe: their tables, and which overrides act on which part."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from niah_gen.errors import RecipeError, suggestion
from niah_gen.recipe.overrides import overridden
from niah_gen.recipe.read_part import PART_FIELDS, Fields, PartReader
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.recipe.values import parse_slug, parse_weight
from niah_gen.tasks.needle import SINGLE
from niah_gen.tasks.registry import find_task

# What belongs to the whole recipe.
SHARED_FIELDS = tuple(field.name for field in fields(Recipe) if field.name != "parts")


class PartTable(NamedTuple):
    """One of a recipe's [[parts]]. `own`: its fields; `overrides`: those given as `parts.NAME.FIELD`."""

    name: str
    weight: float
    own: Mapping[str, Any]
    overrides: Mapping[str, Any]


def part_tables(raw: Mapping[str, Any], problems: list[str], overrides: dict[str, Any]) -> list[PartTable]:
    """The [[parts]] of a recipe. Removes the overrides that name one of them from `overrides`."""
    listed = raw.get("parts", [])
    if not isinstance(listed, list | tuple) or not all(isinstance(table, Mapping) for table in listed):
        problems.append("parts: expected a list of tables, [[parts]]")
        return []
    if "parts" in raw and not listed:
        problems.append("parts: expected at least one; leave the field out for a recipe without parts")
    tables: list[PartTable] = []
    for number, table in enumerate(listed, 1):
        wrong: list[str] = []
        name = Fields(table, wrong).take("name", parse_slug, "")
        if "name" not in table:
            wrong.append("name: expected one, which names the part in every row")
        prefix = f"parts.{name}."
        mine = [key for key in overrides if name and key.startswith(prefix)]
        of_part = {key.removeprefix(prefix): overrides.pop(key) for key in mine}
        weight = Fields({**table, **of_part}, wrong).take("weight", parse_weight, 1.0)
        wrong += filter(None, (_wrong_field(field) for field in table if field != "name"))
        problems += [f"parts[{number}].{problem}" for problem in wrong]
        problems += [f"{prefix}{problem}" for problem in filter(None, map(_wrong_override, of_part))]
        own = {key: value for key, value in table.items() if key in PART_FIELDS}
        of_part.pop("weight", None)
        tables.append(PartTable(name or f"part-{number}", weight, own, of_part))
    names = [table.name for table in tables]
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        problems.append(f"parts: two are called {name!r}; give each its own name")
    for key in [key for key in overrides if key.startswith("parts.")]:
        problems.append(f"{key}: no part of that name{suggestion(key.split('.')[1], names)}")
        del overrides[key]
    return tables


def _wrong_field(field: str) -> str | None:
    """Why a part cannot have a field; None if it can."""
    if field in SHARED_FIELDS:
        return f"{field}: belongs to the whole recipe; write it above the parts"
    if field not in (*PART_FIELDS, "weight"):
        return f"{field}: unknown field{suggestion(field, (*PART_FIELDS, 'weight'))}"
    return None


def _wrong_override(name: str) -> str | None:
    """Why an override of a part, whose name may be dotted, is not allowed; None if it is."""
    field = name.split(".")[0]
    if field == "name":
        return "name: a part keeps its name; change it in the recipe"
    if field == "weight" and field != name:
        return f"{name}: weight is a number; write weight"
    return _wrong_field(field)


def read_parts(
    tables: Sequence[PartTable],
    base: Mapping[str, Any],
    overrides: Mapping[str, Any],
    problems: list[str],
    allowed: Collection[str] | None,
    notes: list[str],
) -> tuple[Part, ...]:
    """The parts of a recipe. `base`: the recipe's own fields, which theirs replace; `allowed`: as for `find_task`.

    Adds notes about files to `notes`.
    """
    tasks = [table.overrides.get("task", table.own.get("task", base.get("task"))) for table in tables]
    read = [
        _read(
            table, _usable(base, task, allowed), _overrides_of(overrides, table, task, tasks, allowed), allowed, notes
        )
        for table, task in zip(tables, tasks, strict=True)
    ]
    problems += _problems_of([(part.name or "", wrong) for part, wrong in read])
    return tuple(part for part, _ in read)


def _overrides_of(
    overrides: Mapping[str, Any],
    table: PartTable,
    task: object,
    tasks: Sequence[object],
    allowed: Collection[str] | None,
) -> dict[str, Any]:
    """The overrides that a part can use: options of its family, and needles if it hides any.

    `task`: the name of its family, None if its needles decide it; `tasks`: those of all parts. An override that no part
    can use goes to all of them, which then report it.
    """
    kept = dict(table.overrides)
    for name, value in overrides.items():
        if _can_use(task, name, allowed) or not any(_can_use(other, name, allowed) for other in tasks):
            kept.setdefault(name, value)
    return kept


def _can_use(task: object, name: str, allowed: Collection[str] | None) -> bool:
    try:
        # The families that needles decide between use the same fields.
        family = find_task(str(task), allowed=allowed) if task else SINGLE
    except RecipeError:
        return True  # the reader reports it
    if name.startswith("options."):
        return name.split(".")[1] in {field.name for field in fields(family.options)}
    if name in ("needles", "paraphrase"):
        return family.hides_needles
    return name != "corpora" or family.corpus is None


def _usable(base: Mapping[str, Any], task: object, allowed: Collection[str] | None) -> dict[str, Any]:
    """The recipe's own fields, without needles and corpora if a part's family cannot use them."""
    about = ("needles", "paraphrase", "corpora")
    return {name: value for name, value in base.items() if name not in about or _can_use(task, name, allowed)}


def _read(
    table: PartTable,
    base: Mapping[str, Any],
    overrides: Mapping[str, Any],
    allowed: Collection[str] | None,
    notes: list[str],
) -> tuple[Part, list[str]]:
    problems: list[str] = []
    merged = {name: value for name, value in base.items() if name not in SHARED_FIELDS} | dict(table.own)
    raw = overridden(merged, {key: value for key, value in overrides.items() if key not in SHARED_FIELDS}, allowed)
    reader = PartReader(raw, problems, allowed)
    part = reader.part(table.name, table.weight)
    notes += reader.notes
    return part, problems


def _problems_of(parts: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """What is wrong with the parts; a problem that all of them have is given once."""
    everywhere = [problem for problem in parts[0][1] if all(problem in problems for _, problems in parts)]
    yield from dict.fromkeys(everywhere)
    for name, problems in parts:
        yield from (f"parts.{name}.{problem}" for problem in problems if problem not in everywhere)
