"""Names rows and plans: an id spells the coordinates and digests what is asked; the plan digest names the dataset."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.options import file_pin, own_files
from niah_score.contract import ROW_ID, ROW_REVISION, SCHEMA_VERSION, Truth, canonical_json, sha256_hex

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
    more = {
        placing.name: [getattr(part, name) for name in placing.choices],
        "options": dict(part.options),
        "system": part.system,
        "question_language": part.question_language,
        "part": part.name,
        "files": _file_pins(recipe, part, task),
    }
    shared |= {name: value for name, value in more.items() if value}
    return sha256_hex(canonical_json(shared | _task_version(task)))[:8]


def _file_pins(recipe: Recipe, part: Part, task: Task) -> list[list[str]]:
    """Name and sha256 of the user's own files that a part's options name, as the recipe pins them."""
    pins = dict(recipe.pins)
    names = sorted({file_pin(spec) for spec in own_files(task.options, part.options).values()})
    return [[name, pins.get(name, "")] for name in names]


def _task_version(task: Task) -> dict[str, object]:
    return {} if task.version == 1 else {"task": [task.name, task.version]}


_ID_LENGTH = 64
_LOOKS_LIKE_COORDINATES = re.compile(r"\d-d\d{4}")


def row_id(family: str, row: Truth) -> str:
    """The row's id: `<family8>-<corpus>-<length>-d<depth x 10>-<needle>-r<repeat>-<row12>`, at most 64 characters.

    row12 digests prompt, question, answers and keywords, and a control's name; if the readable part cannot spell the
    coordinates in full (a name shortened, a depth finer than 0.1), it digests those too, so that no two rows of a
    dataset share an id.
    """
    depth = round((row["depth_percent"] or 0.0) * 10)
    fixed = f"{family}--{row['length']}-d{depth:04d}--r{row['repeat']}-"
    room = _ID_LENGTH - len(fixed) - 12
    corpus, needle = _slug(row["corpus"]), _slug(row["needle_id"] or "")
    if len(corpus) + len(needle) > room:
        needle = needle[: max(room - len(corpus), room // 2)]
        corpus = corpus[: room - len(needle)]
    truth: list[object] = [row["prompt_sha256"], row["question"], row["answers"], row["keywords"]]
    spelled = (corpus, needle, depth / 10) == (row["corpus"], row["needle_id"], row["depth_percent"])
    # A name that contains something like coordinates could be read in two ways.
    if not spelled or _LOOKS_LIKE_COORDINATES.search(f"{corpus} {needle}"):
        truth.append([row["corpus"], row["needle_id"], row["depth_percent"]])
    if row["control"] is not None:
        truth.append({"control": row["control"]})
    row12 = sha256_hex(canonical_json(truth))[:12]
    name = f"{family}-{corpus}-{row['length']}-d{depth:04d}-{needle}-r{row['repeat']}-{row12}"
    if not ROW_ID.fullmatch(name):
        raise ValueError(f"row id {name!r} is outside the alphabet: a bug")
    return name


# A dataset has few corpora and needles, and many rows of each.
@lru_cache(maxsize=256)
def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.rsplit("/", 1)[-1])
