"""Makes contexts that hide needles, each of them once: in filler from the corpora, or among generated units."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.boundaries import joiner_of
from niah_gen.haystacks.generated import JOINER, NOISE, MakeUnit, NoiseFiller, UnitsFiller
from niah_gen.haystacks.haystack import Filler, FillRequest, Haystack, Secret
from niah_gen.haystacks.placement import DepthLine, DepthTargets, Placement, place_nearest, set_lines
from niah_gen.prompts.frame import Frame, PromptMessage
from niah_gen.tasks.records import Cell, Context, ContextMaker, Item, Workbench, cell_seed
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import needle_kind


def check_once(secret: Secret, frame: Frame, haystack: Haystack) -> None:
    """Raise FitError unless every needle will occur in its prompt exactly once."""
    texts = secret.texts
    beside = "\n".join([frame.before, frame.after, *frame.others])
    longest = max(map(len, texts), default=0)
    filler = haystack.beginning(longest)
    # No text that may be hidden holds a NUL.
    together = "\0".join(texts)
    for text in texts:
        if text in filler or text in beside or together.count(text) > 1 or _over_its_edge(text, haystack, filler):
            raise FitError(
                f"needle {secret.id!r}: its text {text!r} already stands in the filler, the prompt or another needle; "
                "hide something that occurs nowhere else, or use another corpus"
            )


def _over_its_edge(text: str, haystack: Haystack, filler: str) -> bool:
    """Whether a text that ends as it begins would occur a second time across its border with the filler.

    `filler`: enough of the haystack to hold every part of the text that the haystack holds.
    """
    start = text.find(text[0], 1)
    while start >= 0:
        if text.startswith(text[start:]):
            size = len(text) - start
            before, after = text[:-size].rstrip(), text[size:]
            # Most texts are nowhere in the filler, so no place has to be checked.
            if (before in filler or after in filler) and any(
                haystack.text.endswith(before, 0, place) or haystack.text.startswith(after, place)
                for place in ([] if haystack.places is None else haystack.places.tolist())
            ):
                return True
        start = text.find(text[0], start + 1)
    return False


# The boundary of contexts that a placement fills.
PLACED = "placed"


class ContextKind(NamedTuple):
    """How contexts are made. `make`: returns the maker that one process uses.

    joiner: what joins a needle to the text on its left, by language.
    boundary: the value of the column `boundary`; None if needles are at no named one.
    exact: whether every needle occurs once, and prompts end within their last whole unit below the budget.
    draws_text: whether each haystack's text is drawn anew, so that rows of different haystacks share none.
    repeats_text: whether a haystack repeats the same few sentences.
    corpus: the value of the column `corpus` for contexts that read no corpus; None if they read the recipe's.
    without_length: whether a recipe may ask for contexts of any length, `lengths = [0]`.

    For needles in filler from the corpora, the placement decides `boundary` and `exact`.
    """

    make: Callable[[Workbench], ContextMaker]
    joiner: Callable[[str], str] = joiner_of
    boundary: str | None = None
    exact: bool = False
    draws_text: bool = False
    repeats_text: bool = False
    corpus: str | None = None
    without_length: bool = False

    def is_exact(self, placement: Placement) -> bool:
        """Whether they are exact with a placement."""
        return self.exact or (placement.native and self.boundary == PLACED)

    def boundary_in(self, placement: Placement, boundary: str, depth: float | None) -> str | None:
        """The value of the column `boundary` at a depth. `boundary`: the recipe's."""
        return placement.boundary_at(boundary, depth) if self.boundary == PLACED else self.boundary


def secret_of(item: Item, hidden: Callable[[str], str]) -> Secret:
    """What a haystack must hide for an item. `hidden`: turns a needle's text into the form the placement inserts."""
    return Secret(needle_kind(item.id), tuple(map(hidden, item.hide)), item.keywords)


def lines_of(
    spread: str | tuple[float, ...],
    diff: float,
    seed: int,
    hidden: Sequence[str],
    shown: Sequence[str],
    sets: Sequence[int] = (),
) -> tuple[DepthLine, ...]:
    """The depth line of each text that a row shows. `hidden`: the texts of its item; a control's twin may show others.

    `sets`: the item's. Texts that the item hides too keep their lines; others take the remaining lines in order.
    Raises RecipeError if a list of depths is too short.
    """
    count = max(len(hidden), len(shown))
    lines = set_lines((*sets, *[1] * (count - sum(sets))) if sets else (count,), spread, diff, seed)
    if len(lines) < len(shown) or (not isinstance(spread, str) and len(lines) != len(hidden)):
        raise RecipeError([f"spread: {len(lines)} depths, but a row hides {max(len(hidden), len(shown))} needles"])
    kept = {text: line for text, line in zip(hidden, lines, strict=False) if text in shown}
    left = iter([line for text, line in zip_longest(hidden, lines) if text not in kept])
    return tuple(kept[text] if text in kept else next(left) for text in shown)


class _Hider:
    """Hides needles in haystacks, which it keeps while consecutive cells share them."""

    def __init__(
        self,
        bench: Workbench,
        filler_of: Callable[[Cell], Filler],
        kind: ContextKind,
        brackets: tuple[str, str] = ("", ""),
    ) -> None:
        self._bench = bench
        self._brackets = brackets
        self._filler_of = filler_of
        self._kind = kind
        self._place = bench.placement.place if kind.boundary == PLACED else place_nearest
        self._key: tuple[object, ...] = ()

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        bench, placement = self._bench, self._bench.placement
        opening, closing = self._brackets
        frame = replace(frame, before=frame.before + opening, after=closing + frame.after)
        # A world has a haystack of its own, which begins with the same text at every length.
        seed = bench.seed if item.world is None else _seed_of_world(bench.seed, item.world)
        self._fill(cell._replace(depth=None) if item.depths else cell, secret_of(item, placement.hidden), frame, seed)
        # What several questions share is looked for once.
        sought = item if item.asks else shown
        haystack, secret = self._haystack, secret_of(sought, placement.hidden)
        if secret not in self._leaks:
            if self._kind.is_exact(placement):
                check_once(secret, frame, haystack)
            self._leaks[secret] = haystack.leak(sought.keywords)
        lines = lines_of(
            item.depths or bench.spread, bench.diff, cell_seed(bench.seed, cell), item.hide, shown.hide, item.sets
        )
        targets = DepthTargets(cell.depth or 0.0, bench.diff, lines, self._kind.joiner(cell.language))
        laid = self._place(haystack, secret.texts, targets, bench.tokenizer)
        text = PromptMessage(None, haystack.source, haystack.end, laid.edits, laid.needles)
        return Context(
            turns=(text.between(opening, closing),),
            haystack_id=haystack.id,
            haystack_tokens=haystack.tokens,
            haystack_passes=haystack.passes,
            needle_depths=tuple(100 * before / haystack.tokens for before in laid.tokens_before),
            boundary=self._kind.boundary_in(placement, bench.boundary, cell.depth),
            leak=self._leaks[secret],
            # Worlds leave out what could answer their questions by design.
            notes=() if item.world else haystack.notes,
        )

    def _fill(self, cell: Cell, secret: Secret, frame: Frame, seed: int) -> None:
        """Fill the haystack of a cell, unless it is the last one's, too."""
        bench = self._bench
        depth = cell.depth if bench.fresh_haystacks else None
        key = (cell.corpus, cell.language, cell.length, cell.needle, cell.repeat, depth)
        if self._key != key:
            joiner = self._kind.joiner(cell.language)
            request = FillRequest(
                cell.length, bench.longest, bench.reserve, cell.repeat, seed, secret, frame, joiner, depth
            )
            self._haystack = self._filler_of(cell).fill(request)
            self._key, self._leaks = key, dict[Secret, str | None]()


def _seed_of_world(seed: int, world: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{world}".encode()).digest()[:4], "big")


def _hide_in_filler(bench: Workbench) -> ContextMaker:
    return _Hider(bench, lambda cell: bench.fillers[cell.corpus], IN_FILLER)


# Hides needles in filler from the recipe's corpora, where the recipe's placement puts them.
IN_FILLER = ContextKind(_hide_in_filler, boundary=PLACED)


def _made_whole(bench: Workbench) -> ContextMaker:
    raise NotImplementedError("prompts that are made whole come from the family's replay")


# For families whose `replay` makes prompts whole by a rule of this project, each fitted to its budget.
FITTED_WHOLE = ContextKind(_made_whole, exact=True)


def generated_units(name: str, unit: MakeUnit) -> ContextKind:
    """Hides needles as lines among generated ones, each at the line end nearest to its depth.

    `unit`: makes a line from a seeded generator; `name`: the value of the column `corpus`, and part of every seed of
    the lines. As many whole ones as fit fill the length, and none holds a keyword or a needle of its row.
    """
    return units_of_cells(name, lambda bench, cell: unit)


def units_of_cells(name: str, unit_of: Callable[[Workbench, Cell], MakeUnit]) -> ContextKind:
    """As `generated_units`, for lines that depend on their cell or on earlier lines.

    `unit_of`: returns the maker of the lines of one haystack, which may remember what it has made.
    """

    def make(bench: Workbench) -> ContextMaker:
        return _Hider(bench, lambda cell: UnitsFiller(name, unit_of(bench, cell), bench.tokenizer), kind)

    kind = ContextKind(make, lambda language: JOINER, "paragraph", True, draws_text=True, corpus=name)
    return kind


# Makes the filler of a language from a family's options and a tokenizer.
MakeFiller = Callable[[Any, str, Tokenizer], Filler]


def noise_filler(options: Any, language: str, tokenizer: Tokenizer) -> Filler:
    """Makes a filler of noise, for `among_lines` with `repeats`; takes no options."""
    return NoiseFiller(NOISE[language], tokenizer)


def among_lines(
    corpus: str,
    filler: MakeFiller,
    joiner: str = JOINER,
    brackets: tuple[str, str] = ("", ""),
    *,
    repeats: bool = False,
) -> ContextKind:
    """Hides needles as lines among those of a filler, such as `LinesFiller` or `NoiseFiller`, at the nearest line ends.

    `corpus`: the value of that column. `joiner` separates the lines; `brackets` enclose them all. `repeats`: whether
    every haystack has the same lines instead of drawing its own.
    """

    def make(bench: Workbench) -> ContextMaker:
        filler_in = cache(lambda language: filler(bench.options, language, bench.tokenizer))
        return _Hider(bench, lambda cell: filler_in(cell.language), kind, brackets)

    kind = ContextKind(make, lambda language: joiner, "paragraph", True, not repeats, repeats, corpus)
    return kind
