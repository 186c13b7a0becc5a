"""Draws RULER's variable tracking: chains of assignments in noise, after an example with its answer."""

from __future__ import annotations

import random
import string
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from niah_gen.prompts.messages import Piece
from niah_gen.tasks.published.ruler.draft import RulerDraft, fitting, searched_size
from niah_gen.tasks.published.ruler.niah import LINE, NoiseLines
from niah_gen.tasks.published.ruler.templates import VARIABLE_TRACKING, filled
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Counter, Slice

_HOPS = 4
_EXAMPLE_LENGTH = 500
_EXAMPLE_VALUE = "12345"
# The example goes before the first occurrence of these characters of the task's template.
_ANCHOR = VARIABLE_TRACKING.prompt[:20]


class _Chain(NamedTuple):
    """A chain of assignments. `names`: the variables, in order; `lines`: the assignments."""

    names: tuple[str, ...]
    value: str
    lines: tuple[str, ...]


class _Draws:
    """The draws of a run: names from Python's generator, values from numpy's."""

    def __init__(self, seed: int) -> None:
        self.letters = random.Random(seed)
        self.numbers = np.random.RandomState(seed)

    def name(self, letters: int) -> str:
        return "".join(self.letters.choices(string.ascii_uppercase, k=letters))

    def value(self) -> str:
        return str(self.numbers.randint(10000, 99999))

    def chain(self, letters: int, value: str | None) -> _Chain:
        names = [self.name(letters) for _ in range(_HOPS + 1)]
        while len(set(names)) < _HOPS + 1:
            names.append(self.name(letters))
        value = value or self.value()
        names = names[: _HOPS + 1]
        links = (f"VAR {new} = VAR {old} " for old, new in pairwise(names))
        return _Chain(tuple(names), value, (f"VAR {names[0]} = {value}", *links))


class _Tracking:
    """Draws chains in noise. `letters`: how many a name has; `value`: the chain's, or None to draw one each time."""

    def __init__(
        self, drawn: _Draws, step: int, reply: int, model_template: str, tokenizer: Tokenizer, letters: int,
        value: str | None,
    ) -> None:  # fmt: skip
        self.step, self.reply = step, reply
        self._drawn = drawn
        self._model_template = model_template
        self._noise = NoiseLines(tokenizer)
        self._letters = letters
        self._value = value

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt, without the example. Draws the chain, then its places."""
        chain = self._drawn.chain(self._letters, self._value)
        places = sorted(self._drawn.letters.sample(range(size), len(chain.lines)))
        source = self._noise.lines(size)
        pieces: list[Piece] = []
        at = 0
        for number, (place, line) in enumerate(zip(places, chain.lines, strict=True)):
            start = LINE * place
            if at < start:
                pieces.append(Piece(Slice(source, at, start)))
            pieces += [Piece(line, number), Piece("\n")]
            at = start
        pieces.append(Piece(Slice(source, at, LINE * size - 1)))
        frames = filled(VARIABLE_TRACKING, self._model_template, query=chain.value, num_v=str(_HOPS + 1))
        return RulerDraft(
            frames.before, tuple(pieces), frames.after, frames.prefix, frames.question, chain.names, chain.lines
        )


class VariableTracking:
    """The generator of one run: a tracking task after an example, with new names and values in every prompt."""

    def __init__(self, seed: int, length: int, model_template: str, tokenizer: Tokenizer, counter: Counter) -> None:
        self._drawn = _Draws(seed)
        example = _Tracking(self._drawn, 5, 0, "base", tokenizer, 3, _EXAMPLE_VALUE)
        size = searched_size(example, _EXAMPLE_LENGTH, counter)
        draft = fitting(example, size, 0, _EXAMPLE_LENGTH, counter)
        context = "".join(piece.fragment().text for piece in draft.context)
        self._names = draft.outputs
        self._example = f"{draft.before}{context}{draft.after}{draft.prefix} {' '.join(draft.outputs)}\n"
        extra = tokenizer.count(self._example)
        step = 5 if length < 4096 else 10
        self._main = _Tracking(self._drawn, step, 30 + extra, model_template, tokenizer, 5, None)

    def size(self, length: int, counter: Counter) -> int:
        """The size to try first in every sample."""
        return searched_size(self._main, length, counter)

    def sample(self, number: int, size: int, length: int, counter: Counter) -> RulerDraft:
        """The prompt of the next sample after its example, which gets new names and a new value."""
        draft = fitting(self._main, size, number, length, counter)
        example = self._example
        for name in self._names:
            example = example.replace(name, self._drawn.name(len(name)))
        example = example.replace(_EXAMPLE_VALUE, self._drawn.value())
        at = draft.before.index(_ANCHOR)
        return draft._replace(before=f"{draft.before[:at]}{example}\n{draft.before[at:]}")
