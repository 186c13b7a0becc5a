"""Proves rows of a dataset, each by the part of the recipe that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from niah_gen.checks.axes import axes_of
from niah_gen.checks.part_proof import PartProver, ProvedRow
from niah_gen.checks.row_types import column_kinds, digest_of, wrong_types
from niah_gen.haystacks.proof import shown
from niah_gen.recipe.recipe import Recipe
from niah_gen.tasks.base import Task
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import ROW_ID, Manifest, Row


class RowProver:
    """Proves the rows of one dataset. `tasks`: the family of each part."""

    def __init__(self, recipe: Recipe, tasks: Sequence[Task], manifest: Manifest, tokenizer: Tokenizer) -> None:
        axes = axes_of(recipe, tasks, manifest).values()
        self._parts = {
            one.part.name: PartProver(recipe, one, task, manifest, tokenizer)
            for one, task in zip(axes, tasks, strict=True)
        }
        self._kinds = column_kinds(recipe.form)

    def prove(self, value: object, config: str) -> ProvedRow:
        """Prove a row. `value`: what its file holds, of any type; `config`: the config of the file."""
        problems = list(wrong_types(value, self._kinds))
        if not problems and (part := cast(Row, value)["part"]) not in self._parts:
            problems.append(f"part is {shown(part)}; the recipe has {', '.join(map(str, self._parts))}")
        if problems:
            name = value.get("id") if isinstance(value, dict) else None
            known = isinstance(name, str) and ROW_ID.fullmatch(name)
            return ProvedRow(name if known else None, digest_of(value), None, 0, tuple(problems))
        row = cast(Row, value)
        return self._parts[row["part"]].prove(row, config)
