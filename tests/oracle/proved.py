"""Proves the rows of a dataset: each from its own prompt and columns, and built again from the recipe."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from part_proof import PartProver, ProvedRow

from niah_gen.checks.rebuild import rebuild
from niah_gen.dataset.read import rows_in
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.registry import chosen_task
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.contract import RECIPE, Dataset, Manifest, Row, read_manifest


class Proof(NamedTuple):
    """What is wrong with a dataset. `not_rebuilt`: why its rows were not built again; None if they were.

    `below`: fewest and most tokens between a prompt and its budget; `off`: the most points between the depth asked for
    and the first needle's; None if contexts are not exact.
    """

    manifest: Manifest
    problems: tuple[str, ...]
    not_rebuilt: str | None
    rows: int
    below: tuple[int, int] | None
    off: float | None


class RowProver:
    """Proves the rows of one dataset. `tasks`: the family of each part."""

    def __init__(self, recipe: Recipe, tasks: Sequence[Task], tokenizer: Tokenizer) -> None:
        pairs = zip(recipe.parts, tasks, strict=True)
        self._parts = {part.name: PartProver(recipe, part, task, tokenizer) for part, task in pairs}

    def prove(self, row: Any) -> ProvedRow:
        """Prove a row."""
        return self._parts[row["part"]].prove(row)


def problems_of(folder: Path) -> list[str]:
    """What the prompts and columns of a dataset's rows show to be wrong, without building them again."""
    manifest = read_manifest(folder)
    recipe = load_recipe(folder / RECIPE, here=False)
    tasks = [chosen_task(part.task, part.options) for part in recipe.parts]
    prover = RowProver(recipe, tasks, find_tokenizer(manifest.tokenizer.name))
    return [
        f"{file.entry.path} row {number} ({row['id']}): {problem}"
        for file in Dataset(folder, manifest).files()
        for number, row in enumerate(rows_in(file.path), 1)
        for problem in prover.prove(row).problems
    ]


def prove(
    folder: Path,
    *,
    tokenizer: str | None = None,
    corpora: Sequence[str] = (),
    task_modules: Collection[str] = (),
    jobs: int | None = 1,
) -> Proof:
    """Build the rows of a dataset again, compare them, and prove each row of every format from its own columns."""
    done = rebuild(folder, tokenizer=tokenizer, corpora=corpora, task_modules=task_modules, jobs=jobs)
    manifest = done.manifest
    recipe = load_recipe(folder / RECIPE, here=False, task_modules=task_modules)
    tasks = [chosen_task(part.task, part.options, allowed=task_modules) for part in recipe.parts]
    found = find_tokenizer(tokenizer or manifest.tokenizer.name, manifest.tokenizer.name)
    prover = RowProver(recipe, tasks, found)
    problems = list(done.problems)
    proved: list[ProvedRow] = []
    dataset = Dataset(folder, manifest)
    for suffix in dataset.formats:
        for file in dataset.files(suffix):
            for row in cast("Iterator[Row]", rows_in(file.path)):
                proved.append(prover.prove(row))
                problems += [f"{row['id']}: {problem}" for problem in proved[-1].problems]
    below = [row.below for row in proved if row.below is not None]
    off = [row.off for row in proved if row.off is not None]
    return Proof(
        manifest, tuple(problems), done.not_rebuilt, len(proved), (min(below), max(below)) if below else None,
        max(off, default=None),
    )  # fmt: skip
