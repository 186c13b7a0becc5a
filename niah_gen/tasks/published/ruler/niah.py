"""Draws RULER's eight niah tasks, keys with values hidden in noise, in essays, or among others of their kind, and its
variable tracking, chains of assignments in noise."""

from __future__ import annotations

import random
import string
import uuid
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from niah_gen.haystacks.haystack import passes_of
from niah_gen.tasks.published.ruler.draft import RulerDraft, RulerRun, templates
from niah_gen.tasks.published.ruler.essays import Essays
from niah_gen.tasks.published.ruler.words import pairs
from niah_gen.tokenizers.counted import Counted, Edit, counted, part
from niah_gen.tokenizers.find import Tokenizer

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
# Code points of a line of noise with its line end.
_LINE = len(NOISE) + 1
_NEEDLE = "One of the special magic {kind} for {key} is: {value}."
# The depths that essay needles are drawn from, in percent.
_DEPTHS = tuple(int(depth) for depth in np.round(np.linspace(0, 100, 40)))
_HOPS = 4
_EXAMPLE_LENGTH = 500
_EXAMPLE_VALUE = "12345"


@lru_cache(maxsize=8)
def _lines(count: int, tokenizer: Tokenizer) -> Counted:
    return counted("\n".join([NOISE] * count), tokenizer)


def noise(size: int, tokenizer: Tokenizer) -> Counted:
    """RULER's line of noise, repeated: so many lines, cut from the next power of two, which other sizes share."""
    return part(_lines(1 << size.bit_length(), tokenizer), 0, _LINE * size - 1, tokenizer)


class NiahSettings(NamedTuple):
    """The settings of a niah task. `haystack`: noise, essay or needle; `values`: per key; `queries`: keys asked for."""

    haystack: str
    key_kind: str = "words"
    value_kind: str = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1


class Niah(RulerRun):
    """The generator of one run of a niah task. Only essays hide more than one needle. `essays`: None without them."""

    reply = 128

    def __init__(
        self, settings: NiahSettings, seed: int, length: int, template: str, tokenizer: Tokenizer,
        essays: Essays | None = None,
    ) -> None:  # fmt: skip
        super().__init__(seed, length, template, tokenizer)
        self._settings = settings._replace(keys=max(settings.keys, settings.queries))
        self._essays = essays
        self.step = 500 if essays else (5 if length < 4096 else 25)

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt. Draws keys and values, the haystack, the places, then the keys to ask for."""
        settings = self._settings
        keys, values, needles = [], [], []
        for _ in range(settings.keys):
            keys.append(self._word(settings.key_kind))
            values.append([self._word(settings.value_kind) for _ in range(settings.values)])
            needles += [_NEEDLE.format(kind=settings.value_kind, key=keys[-1], value=value) for value in values[-1]]
        # A separate generator with the run's seed: the order is the same in every prompt of the run.
        random.Random(self.seed).shuffle(needles)
        haystack, edits = (
            self._in_essay(self._essays, size, needles) if self._essays else self._in_lines(size, *needles)
        )
        asked = self.draw.sample(range(settings.keys), settings.queries)
        outputs = [value for number in asked for value in values[number]]
        names = [keys[number] for number in asked]
        passes = passes_of(size, len(self._essays.words)) if self._essays else 1.0
        return self.drawn(
            "niah", haystack, outputs, needles, edits, passes,
            type_needle_v=settings.value_kind.rstrip("s") if len(outputs) == 1 else settings.value_kind,
            query=", ".join(names[:-1]) + ", and " + names[-1] if len(names) > 1 else names[0],
        )  # fmt: skip

    def _word(self, kind: str) -> str:
        if kind == "words":
            return self.draw.choice(pairs())
        if kind == "numbers":
            return str(self.draw.randint(10**6, 10**7 - 1))
        return str(uuid.UUID(int=self.draw.getrandbits(128), version=4))

    def _in_lines(self, size: int, needle: str) -> tuple[Counted, list[Edit]]:
        """A haystack of lines, and the needle before one of them."""
        if self._settings.haystack == "noise":
            haystack, width = noise(size, self.tokenizer), [_LINE] * size
        else:
            kind, value_kind = self._settings.key_kind, self._settings.value_kind
            lines = [
                _NEEDLE.format(kind=value_kind, key=self._word(kind), value=self._word(value_kind)) for _ in range(size)
            ]
            haystack, width = counted("\n".join(lines), self.tokenizer), [len(line) + 1 for line in lines]
        at = sum(width[: self.draw.sample(range(size), 1)[0]])
        return haystack, [Edit(at, at, f"{needle}\n")]

    def _in_essay(self, essays: Essays, size: int, needles: list[str]) -> tuple[Counted, list[Edit]]:
        """The first `size` words of the essays, and needles between sentences: a space on each side of a needle."""
        haystack, ends = essays.cut(size)
        edits = []
        last = 0
        for needle, depth in zip(needles, sorted(self.draw.sample(_DEPTHS, len(needles))), strict=True):
            cut = int(len(ends) * (depth / 100))
            start = ends[cut - 1] if cut else 0
            # The first needle takes the place of the space between two sentences; a second one there follows it.
            end = start + (0 < cut < len(ends))
            edits.append(Edit(max(start, last), end, f" {needle} "))
            last = end
        return haystack, edits


class Chains(RulerRun):
    """Draws chains of assignments in noise. `letters`: of a name; `value`: the chain's, or None to draw one each time.

    Names are drawn from Python's generator, values from numpy's.
    """

    letters = 5
    value: str | None = None
    numbers: np.random.RandomState

    def name(self, letters: int) -> str:
        """A new name."""
        return "".join(self.draw.choices(string.ascii_uppercase, k=letters))

    def number_drawn(self) -> str:
        """A new value."""
        return str(self.numbers.randint(10000, 99999))

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt, without an example. Draws the chain, then its places."""
        names = [self.name(self.letters) for _ in range(_HOPS + 1)]
        while len(set(names)) < _HOPS + 1:
            names.append(self.name(self.letters))
        value, names = self.value or self.number_drawn(), names[: _HOPS + 1]
        lines = [f"VAR {names[0]} = {value}", *(f"VAR {new} = VAR {old} " for old, new in pairwise(names))]
        places = [_LINE * place for place in sorted(self.draw.sample(range(size), len(lines)))]
        edits = [Edit(place, place, f"{line}\n") for place, line in zip(places, lines, strict=True)]
        haystack = noise(size, self.tokenizer)
        return self.drawn("variable_tracking", haystack, names, lines, edits, query=value, num_v=str(_HOPS + 1))


class VariableTracking(Chains):
    """The generator of one run: a chain after an example, with new names and values in every prompt."""

    def __init__(self, seed: int, length: int, template: str, tokenizer: Tokenizer) -> None:
        super().__init__(seed, length, template, tokenizer)
        self.numbers = np.random.RandomState(seed)
        example = Chains(seed, _EXAMPLE_LENGTH, "base", tokenizer)
        example.draw, example.numbers = self.draw, self.numbers
        example.step, example.letters, example.value = 5, 3, _EXAMPLE_VALUE
        draft = example.next()
        self._names = draft.outputs
        self._example = f"{draft.before}{draft.context}{draft.after}{draft.prefix} {' '.join(draft.outputs)}\n"
        self.step = 5 if length < 4096 else 10
        self.reply = 30 + tokenizer.count(self._example)

    def sample(self, size: int) -> RulerDraft:
        """The prompt of the next sample after its example, which gets new names and a new value."""
        draft = super().sample(size)
        example = self._example
        for name in self._names:
            example = example.replace(name, self.name(len(name)))
        example = example.replace(_EXAMPLE_VALUE, self.number_drawn())
        # The example goes before the first occurrence of these characters of the task's template.
        at = draft.before.index(templates()["variable_tracking"]["prompt"][:20])
        return draft._replace(before=f"{draft.before[:at]}{example}\n{draft.before[at:]}")
