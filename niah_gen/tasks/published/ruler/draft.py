"""Defines a drafted RULER prompt, counts it, and finds the size that fits a length as RULER does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import passes_of
from niah_gen.prompts.messages import NO_NEEDLE, Piece
from niah_gen.tokenizers.spliced import Counter


class RulerDraft(NamedTuple):
    """A prompt as one draw of a generator makes it, up to its answer prefix.

    `before`, `after`: what stands around the context inside the published template. `context`: its pieces; needle k
    carries the number k. `outputs`: the published outputs, in order. `question`: as it is asked. `filler`:
    units of the corpus used and units it has, where a corpus is gone through.
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
        """Tokens of the context without its needles, and of that before each needle, in percent."""
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
        """How often the corpus was gone through."""
        return passes_of(*self.filler) if self.filler else 1.0


class Generator(Protocol):
    """Draws the prompts of one run, one after the other: first the search for a size, then the samples in order."""

    def size(self, length: int, counter: Counter) -> int:
        """The size that samples of a length (tokens) begin with; finding it takes draws."""

    def sample(self, number: int, size: int, length: int, counter: Counter) -> RulerDraft:
        """The prompt of the next sample, which has this number. Raises FitError where none fits the length."""


class Drafter(Protocol):
    """Draws a prompt of a given size. `step`: units by which a size changes; `reply`: tokens kept for the answer."""

    step: int
    reply: int

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt with a context of `size` units, drawn anew. `sample`: its number; 0 while sizes are searched."""


def fitting(drafter: Drafter, size: int, sample: int, length: int, counter: Counter) -> RulerDraft:
    """The sample's prompt: drawn again with fewer units until it fits. Raises FitError where the fewest do not fit.

    RULER draws the fewest for ever there.
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
    """The largest size between two whose prompt fits, by bisection, one fresh prompt a probe; None where none fits."""
    best = None
    while low <= high:
        middle = (low + high) // 2
        if drafter.draft(middle, 0).tokens(counter) + drafter.reply <= length:
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def searched_size(drafter: Drafter, length: int, counter: Counter) -> int:
    """The size by the search that RULER's niah and vt share: one probe tells tokens a unit, then bisection."""
    step = drafter.step
    each = drafter.draft(step, 0).tokens(counter) / step
    high = max(int(length / each * 3), 2 * step)
    return largest_that_fits(drafter, step, high, length, counter) or step


def listed(words: Sequence[str]) -> str:
    """Words as RULER lists them: `a, and b`; `a, b, and c`."""
    return ", ".join(words[:-1]) + ", and " + words[-1] if len(words) > 1 else words[0]
