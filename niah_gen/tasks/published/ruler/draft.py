"""Defines a draft of a RULER prompt, and a run, which draws prompts in sequence at the size that fits a length."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from niah_gen.errors import FitError
from niah_gen.tokenizers.counted import Counted, Edit, count, counted, edited
from niah_gen.tokenizers.find import Tokenizer

LIBRARY = Path(__file__).parents[3] / "library" / "ruler"


@lru_cache(maxsize=1)
def templates() -> Mapping[str, Mapping[str, str]]:
    """The published `prompt` and `prefix` of each generator, and the model templates, `models`."""
    return tomllib.loads((LIBRARY / "templates.toml").read_text("utf-8"))


class RulerDraft(NamedTuple):
    """A prompt as a generator draws it, with its answer prefix apart.

    `before`, `after`: the text around the context in the published template. `question`: as the prompt asks it.
    `haystack`: the context without its needles; edit k puts needle k in, with what joins it to the text around it.
    `outputs`: the published outputs, in order. `passes`: how many times the corpus was read through.
    """

    before: str
    after: str
    prefix: str
    question: str
    haystack: Counted
    outputs: tuple[str, ...]
    needles: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    passes: float = 1.0

    def tokens(self, tokenizer: Tokenizer) -> int:
        """Tokens of the prompt with its answer prefix."""
        end = len(self.haystack.text)
        around = Edit(0, 0, self.before), *self.edits, Edit(end, end, self.after + self.prefix)
        return count(self.haystack, around, end, tokenizer)

    @property
    def context(self) -> str:
        """The context with its needles."""
        return edited(self.haystack, self.edits, len(self.haystack.text))

    def filler(self, tokenizer: Tokenizer) -> tuple[str, int, list[int], list[int]]:
        """The context without its needles; its tokens, those before each needle, and where needles begin in the prompt.

        Each run of filler is counted alone.
        """
        end = len(self.haystack.text)
        filler, joint, at, tokens = "", "", 0, 0
        before: list[int] = []
        starts: list[int] = []
        for edit, needle in zip(self.edits, self.needles, strict=True):
            left, _, right = edit.text.partition(needle)
            run = Edit(0, at, joint), Edit(edit.start, edit.start, left)
            filler += edited(self.haystack, run, edit.start)
            tokens += count(self.haystack, run, edit.start, tokenizer)
            starts.append(len(self.before) + len(filler) + sum(len(text) for text in self.needles[: len(before)]))
            before.append(tokens)
            joint, at = right, edit.end
        rest = (Edit(0, at, joint),)
        return (
            filler + edited(self.haystack, rest, end),
            tokens + count(self.haystack, rest, end, tokenizer),
            before,
            starts,
        )


class RulerRun:
    """Draws the prompts of one run in sequence: first those of the search for a size, then the samples in order.

    `step`: units by which sizes differ; `reply`: tokens reserved for the answer; `number`: of the next sample.
    """

    step, reply = 10, 0

    def __init__(self, seed: int, length: int, template: str, tokenizer: Tokenizer) -> None:
        self.seed, self.length, self.template, self.tokenizer = seed, length, template, tokenizer
        self.draw = random.Random(seed)
        self.number = 0
        self._size: int | None = None

    def draft(self, size: int, sample: int) -> RulerDraft:
        """A new prompt with a context of `size` units. `sample`: its number; 0 during the search for a size."""
        raise NotImplementedError

    def next(self) -> RulerDraft:
        """The prompt of the next sample. Raises FitError if none fits the length."""
        if self._size is None:
            self._size = self.size()
        draft = self.sample(self._size)
        self.number += 1
        return draft

    def size(self) -> int:
        """The size to try first in every sample: one prompt shows the tokens per unit, then bisection."""
        each = self.draft(self.step, 0).tokens(self.tokenizer) / self.step
        return self.largest(max(int(self.length / each * 3), 2 * self.step))

    def largest(self, high: int) -> int:
        """The largest size up to `high` whose prompt fits, by bisection with a new prompt per probe; else the step."""
        low = best = self.step
        while low <= high:
            middle = (low + high) // 2
            if self.draft(middle, 0).tokens(self.tokenizer) + self.reply <= self.length:
                best, low = middle, middle + 1
            else:
                high = middle - 1
        return best

    def sample(self, size: int) -> RulerDraft:
        """The sample's prompt, redrawn with fewer units until it fits.

        Raises FitError if the fewest do not fit; RULER loops forever in that case.
        """
        while True:
            draft = self.draft(size, self.number)
            tokens = draft.tokens(self.tokenizer) + self.reply
            if tokens <= self.length:
                return draft
            if size <= self.step:
                raise FitError(
                    f"length {self.length}: RULER's smallest prompt, of {size} units, and its answer have {tokens} "
                    "tokens; ask for longer lengths"
                )
            size -= self.step

    def drawn(
        self, name: str, haystack: Counted | str, outputs: Sequence[str], needles: Sequence[str] = (),
        edits: Sequence[Edit] = (), passes: float = 1.0, **fields: str,
    ) -> RulerDraft:  # fmt: skip
        """A draft with the generator's template inside the model template, and all fields but the context filled in."""
        own = templates()[name]
        texts = [own["prompt"], own["prefix"], templates()["models"][self.template]]
        if name == "niah" and len(outputs) == 1:
            for plural, one in (("Some", "A"), ("are all", "is"), ("are", "is"), ("answers", "answer")):
                texts = [text.replace(plural, one) for text in texts]
        # The context stays out, so that nothing in it can be mistaken for a field.
        parts = [*texts[0].split("{context}"), texts[1]]
        for field, value in fields.items():
            parts = [part.replace(f"{{{field}}}", value) for part in parts]
        before, after, prefix = parts
        first, last = texts[2].split("{task_template}")
        question = after.rpartition("\n")[2].removeprefix("Question: ")
        source = counted(haystack, self.tokenizer) if isinstance(haystack, str) else haystack
        return RulerDraft(
            first + before, after + last, prefix, question, source, tuple(outputs), tuple(needles), tuple(edits), passes
        )
