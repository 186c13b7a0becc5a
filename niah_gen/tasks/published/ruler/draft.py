"""Defines a draft of a RULER prompt, counts its tokens, and finds the size that fits a length as RULER does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import passes_of
from niah_gen.prompts.messages import NO_NEEDLE, Piece
from niah_gen.tokenizers.spliced import Counter


class RulerDraft(NamedTuple):
    """A prompt as a generator draws it, with its answer prefix apart.

    `before`, `after`: the text around the context in the published template. `context`: its pieces; needle k carries
    the number k. `question`: as the prompt asks it. `outputs`: the published outputs, in order. `filler`: units of
    the corpus used, and units that it has; None if no corpus is read.
    """

    before: str
    context: tuple[Piece, ...]
    after: str
    prefix: str
    question: str
    outputs: tuple[str, ...]
    needles: tuple[str, ...] = ()
    filler: tuple[int, int] | None = None

    def tokens(self, counter: Counter) -> int:
        """Tokens of the prompt with its answer prefix."""
        return counter.count([self.before, *(piece.content for piece in self.context), self.after + self.prefix])

    def depths(self, counter: Counter) -> tuple[int, tuple[float, ...]]:
        """Tokens of the context without its needles, and the percentage of them before each needle."""
        before: dict[int, int] = {}
        total, run = 0, []
        for piece in self.context:
            if piece.needle == NO_NEEDLE:
                run.append(piece.content)
                continue
            total, run = total + counter.count(run), []
            before.setdefault(piece.needle, total)
        total += counter.count(run)
        return total, tuple(100 * before[number] / max(total, 1) for number in range(len(self.needles)))

    @property
    def passes(self) -> float:
        """How many times the corpus was read through."""
        return passes_of(*self.filler) if self.filler else 1.0


class Generator(Protocol):
    """Draws the prompts of one run in sequence: first those of the search for a size, then the samples in order."""

    def size(self, length: int, counter: Counter) -> int:
        """The size to try first in every sample of a length (tokens); the search for it draws prompts."""

    def sample(self, number: int, size: int, length: int, counter: Counter) -> RulerDraft:
        """The prompt of the next sample, which has this number. Raises FitError if none fits the length."""


class Drafter(Protocol):
    """Draws a prompt of a given size. `step`: units by which sizes differ; `reply`: tokens reserved for the answer."""

    step: int
    reply: int

    def draft(self, size: int, sample: int) -> RulerDraft:
        """A new prompt with a context of `size` units. `sample`: its number; 0 during the search for a size."""


def fitting(drafter: Drafter, size: int, sample: int, length: int, counter: Counter) -> RulerDraft:
    """The sample's prompt, redrawn with fewer units until it fits. Raises FitError if the fewest do not fit.

    RULER loops forever in that case.
    """
    while True:
        drawn = drafter.draft(size, sample)
        tokens = drawn.tokens(counter) + drafter.reply
        if tokens <= length:
            return drawn
        if size <= drafter.step:
            raise FitError(
                f"length {length}: RULER's smallest prompt, of {size} units, and its answer have {tokens} tokens; ask "
                "for longer lengths"
            )
        size -= drafter.step


def largest_that_fits(drafter: Drafter, low: int, high: int, length: int, counter: Counter) -> int | None:
    """The largest size from `low` to `high` whose prompt fits, by bisection with a new prompt per probe, or None."""
    best = None
    while low <= high:
        middle = (low + high) // 2
        if drafter.draft(middle, 0).tokens(counter) + drafter.reply <= length:
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def searched_size(drafter: Drafter, length: int, counter: Counter) -> int:
    """The size that RULER's search finds: one prompt shows the tokens per unit, then bisection."""
    step = drafter.step
    each = drafter.draft(step, 0).tokens(counter) / step
    high = max(int(length / each * 3), 2 * step)
    return largest_that_fits(drafter, step, high, length, counter) or step


def listed(words: Sequence[str]) -> str:
    """Words as RULER lists them: `a, and b`; `a, b, and c`."""
    return ", ".join(words[:-1]) + ", and " + words[-1] if len(words) > 1 else words[0]
