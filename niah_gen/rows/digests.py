"""Digests what a recipe asks for: the digest that names its dataset, and the one that begins the ids of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.options import file_pin, own_files
from niah_score.contract import ROW_REVISION, SCHEMA_VERSION, canonical_json, sha256_hex

# A recipe pins the file of a user's own language under this, followed by the language's code.
LANGUAGE_PIN = "language "


def plan_digest(
    recipe: Recipe, tasks: Sequence[Task], tokenizer: str, tokenizer_sha256: str, corpora: Sequence[tuple[str, str]]
) -> str:
    """The digest that names a dataset: resolved recipe, corpora, tokenizer, templates, placements and task versions.

    tasks: the family of each part; corpora: name and sha256 of each. Version 1 of a task adds nothing.
    """
    digested: dict[str, object] = {
        "schema": SCHEMA_VERSION,
        "rows": ROW_REVISION,
        "recipe": replace(recipe, pins=(), allow_repeats=False).table(),
        "corpora": [[name, sha256] for name, sha256 in corpora],
        "tokenizer": [tokenizer, tokenizer_sha256],
    }
    each = [
        {
            "template": part.template_family(),
            "placement": [part.placement, part.placing.version],
            **_task_version(task),
        }
        for part, task in zip(recipe.parts, tasks, strict=True)
    ]
    digested |= {"parts": each} if recipe.has_parts else each[0]
    files = [pin for part, task in zip(recipe.parts, tasks, strict=True) for pin in _file_pins(recipe, part, task)]
    if files:
        digested["files"] = sorted(files)
    languages = [[name, sha256] for name, sha256 in recipe.pins if name.startswith(LANGUAGE_PIN)]
    if languages:
        digested["languages"] = languages
    return sha256_hex(canonical_json(digested))


def family_digest(recipe: Recipe, part: Part, task: Task, tokenizer_sha256: str, language: str = "en") -> str:
    """family8 of the ids of a part's rows in a language: a digest of what they share; axes can grow without new ids.

    English and Chinese have the same one. A family's options, the files that they name and the name of a recipe's part
    are in it; version 1 of a task without options adds nothing.
    """
    placing = part.placing
    shared: dict[str, object] = {
        "schema": SCHEMA_VERSION,
        "placement": [part.placement, placing.version],
        "tokenizer": tokenizer_sha256,
        "template": [part.template_family(language), recipe.form, part.guide],
        "reserve": part.reserve,
        "seed": part.seed,
    }
    if placing.choices:
        shared[placing.name] = [getattr(part, name) for name in placing.choices]
    if part.options:
        shared["options"] = dict(part.options)
    if part.system:
        shared["system"] = part.system
    if part.question_language:
        shared["question_language"] = part.question_language
    if part.name is not None:
        shared["part"] = part.name
    files = _file_pins(recipe, part, task)
    if files:
        shared["files"] = files
    return sha256_hex(canonical_json(shared | _task_version(task)))[:8]


def _file_pins(recipe: Recipe, part: Part, task: Task) -> list[list[str]]:
    """Name and sha256 of the user's own files that a part's options name, as the recipe pins them."""
    pins = dict(recipe.pins)
    names = sorted({file_pin(spec) for spec in own_files(task.options, part.options).values()})
    return [[name, pins.get(name, "")] for name in names]


def _task_version(task: Task) -> dict[str, object]:
    return {} if task.version == 1 else {"task": [task.name, task.version]}
