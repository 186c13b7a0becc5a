"""Defines the recipe: what a user asks for, every field resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from niah_gen.haystacks.placement import Placement
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.tasks.needle_library import Needle
from niah_score.contract import PromptForm


@dataclass(frozen=True, slots=True)
class Recipe:
    """A resolved recipe: every field has its value, schedules are lists, needles are whole.

    `task`: a name of TASKS, or `module:NAME`; `options`: what that family alone knows, as TOML values; `controls`: the
    twins of each row that are made beside it. `lengths` and `reserve` are in tokens, `depths` and `diff` in percent.
    `spread`: how a set's needles are spread: even, diff (`diff` apart), random, or the depth of each. `boundary`: where
    native needles stand. `leaks`: what native does about documents that hold a keyword. `fresh_haystacks`: every native
    row has filler of its own. `languages`: empty for all that the corpora have. `pins`: sha256 of the tokenizer and the
    corpora, by name, that a resolved recipe was built with; another corpus of that name is refused.
    """

    name: str
    version: str
    task: str
    placement: str
    tokenizer: str
    template: str
    form: PromptForm
    guide: bool
    question_position: str
    lengths: tuple[int, ...]
    depths: tuple[float, ...]
    repeats: int
    reserve: int
    seed: int
    max_new_tokens: int
    diff: float
    spread: str | tuple[float, ...]
    boundary: str
    leaks: str
    fresh_haystacks: bool
    languages: tuple[str, ...]
    corpora: tuple[str, ...]
    needles: tuple[Needle, ...]
    pins: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    controls: tuple[str, ...] = ()

    @property
    def placing(self) -> Placement:
        """The placement that the recipe names."""
        return PLACEMENTS[self.placement]

    def placed_depths(self) -> tuple[float, ...]:
        """The depths that rows are made for, in percent."""
        return self.placing.depths(self.depths)

    def table(self) -> dict[str, object]:
        """The recipe as TOML values: reading them back gives the same recipe."""
        table: dict[str, object] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            table[item.name] = list(value) if isinstance(value, tuple) else value
        table["depths"] = _plain(self.depths)
        if not isinstance(self.spread, str):
            table["spread"] = _plain(self.spread)
        table["needles"] = [needle.table() for needle in self.needles]
        table["pins"] = dict(self.pins)
        table["options"] = dict(sorted(self.options.items()))
        for name in ("pins", "options", "controls"):
            if not table[name]:
                del table[name]
        return table

    def to_toml(self) -> bytes:
        """recipe.toml of a dataset folder."""
        import tomli_w

        head = "# The resolved recipe: `niah-gen build recipe.toml` gives the same rows.\n"
        return (head + tomli_w.dumps(self.table())).encode()


def _plain(numbers: Sequence[float]) -> list[float]:
    return [int(number) if number == int(number) else number for number in numbers]
