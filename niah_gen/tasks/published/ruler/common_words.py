"""Draws RULER's common words extraction: a numbered list in which ten words are ten times as frequent as the others."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

import orjson

from niah_gen.errors import FitError, RecipeError
from niah_gen.prompts.messages import Piece
from niah_gen.tasks.published.ruler.draft import RulerDraft, fitting, largest_that_fits
from niah_gen.tasks.published.ruler.templates import COMMON_WORDS, filled
from niah_gen.tasks.published.ruler.words import vocabulary
from niah_gen.tokenizers.spliced import Counter

_COMMON = 10
_PROBE = 4096
# Lengths below this have shorter lists.
_SHORT = 4096


@lru_cache(maxsize=4)
def words_of_file(path: Path) -> tuple[str, ...]:
    """The words of RULER's english_words.json, a JSON object's values. Raises RecipeError if the file is not one."""
    try:
        words = orjson.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RecipeError([f"options.words: {path}: cannot be read as JSON ({error})"]) from None
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        raise RecipeError([f"options.words: {path}: expected an object whose values are words"])
    return tuple(words.values())


class CommonWords:
    """The generator of one run. `words`: the file to draw from for lists longer than the vocabulary."""

    reply = 120
    step = 10

    def __init__(self, seed: int, length: int, model_template: str, words: Path | None) -> None:
        self._seed = seed
        self._draw = random.Random(seed)
        self._model_template = model_template
        self._file = words
        self._short = length < _SHORT
        shuffled = list(vocabulary())
        random.Random(seed).shuffle(shuffled)
        self._words = shuffled

    def size(self, length: int, counter: Counter) -> int:
        """The number of words to try first in every sample."""
        probe = self.draft(_PROBE, 0)
        each = probe.tokens(counter) / _PROBE
        return largest_that_fits(self, self.step, int(length // each) * 2, length, counter) or self.step

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt. Draws the example's words, then those of the list."""
        example_times, times = ((3, 1), (6, 1)) if self._short else ((10, 3), (30, 3))
        context, answers = self._listed(20 if self._short else 40, *example_times)
        example = filled(COMMON_WORDS, "base")
        shown = " ".join(f"{number}. {word}" for number, word in enumerate(answers, 1))
        text, outputs = self._listed(size, *times)
        frames = filled(COMMON_WORDS, self._model_template)
        at = frames.before.index(COMMON_WORDS.prompt[:20])
        before = f"{example.before}{context}{example.after}{example.prefix} {shown}\n"
        before = f"{frames.before[:at]}{before}{frames.before[at:]}"
        return RulerDraft(before, (Piece(text),), frames.after, frames.prefix, frames.question, tuple(outputs))

    def sample(self, number: int, size: int, length: int, counter: Counter) -> RulerDraft:
        """The prompt of the next sample."""
        return fitting(self, size, number, length, counter)

    def _listed(self, size: int, common_times: int, other_times: int) -> tuple[str, list[str]]:
        """A numbered list of `size` different words, and the ten common ones."""
        drawn = self._draw.sample(self._of_file(size) if size > len(self._words) else self._words, size)
        common, others = drawn[:_COMMON], drawn[_COMMON:]
        items = common * common_times + others * other_times
        random.Random(self._seed).shuffle(items)
        return " ".join(f"{number}. {word}" for number, word in enumerate(items, 1)), common

    def _of_file(self, size: int) -> tuple[str, ...]:
        if self._file is None:
            raise FitError(
                f"RULER's lists of {size} words need its file english_words.json, since its word lists have only "
                f"{len(self._words)}; give it with --set options.words=PATH, or ask for shorter lengths"
            )
        words = words_of_file(self._file)
        if len(words) < size:
            raise FitError(f"{self._file} has {len(words)} words, but RULER's list needs {size}")
        return words
