"""Reads the scores of systems that only match words, which a dataset's card states.

The card's YAML holds them as one line of JSON, from which they are kept when the card is rewritten. No digest includes
them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import CARD, Manifest
from niah_score.text.markdown import in_markdown, paragraph_in_markdown

# The key in the card's YAML.
KEY = "word_overlap"
_SUMMARY = "summary.json"


@dataclass(frozen=True, slots=True)
class WordOverlap:
    """The score of a system that only matches words: points, 0 to 100, with a 95 % interval, over `n` rows.

    `model`: the name it was scored under. `digest8`: of the dataset that was scored. `parts`: the mean of each named
    part, including those that count in no headline. `guessed`: percent of rows without a context that it answers right
    nonetheless; None if there are no such rows.
    """

    model: str
    mean: float
    low: float
    high: float
    n: int
    digest8: str
    parts: Mapping[str, float] = field(default_factory=dict)
    guessed: float | None = None

    def __post_init__(self) -> None:
        """Raises TypeError or ValueError for fields that make no score."""
        guessed = () if self.guessed is None else (self.guessed,)
        numbers = (self.mean, self.low, self.high, *self.parts.values(), *guessed)
        if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
            raise TypeError(f"mean and interval are {numbers}, expected numbers")
        if not all(math.isfinite(number) and 0 <= number <= 100 for number in numbers):
            raise ValueError(f"mean and interval are {numbers}, expected points from 0 to 100")
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise ValueError(f"n is {self.n!r}, expected rows")
        if not isinstance(self.model, str) or not isinstance(self.digest8, str):
            raise TypeError("model and digest8 are not both text")
        self.model.encode()  # raises for half a surrogate pair

    def sentence(self) -> str:
        """The score in words, and what it means."""
        interval = f"95 % interval {self.low:.1f} to {self.high:.1f}, {self.n:,} rows"
        return (
            f"{self.model}, which only matches words, scores {self.mean:.1f} of 100 points ({interval}): that much of "
            "this dataset is solvable by word overlap, without a model. A score up to that shows that words are found "
            "in long text, not that they are understood."
        )


def read_scores(folder: Path, manifest: Manifest) -> WordOverlap:
    """The score in a folder that `niah-score score` wrote for this dataset, over all rows that count.

    Raises NiahError if the folder holds no such scores, IntegrityError if they are another dataset's.
    """
    path = folder / _SUMMARY
    try:
        summary = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise NiahError(f"{path}: not there; expected a folder that niah-score score wrote") from None
    except (OSError, ValueError, RecursionError) as error:
        raise NiahError(f"{path}: cannot be read as JSON ({error}); score the answers again") from None
    try:
        overall, parts = summary["headline"], summary["headline"]["parts"]
        controls = summary.get("controls", {})
        # The headline counts neither controls nor parts without a weight.
        rows = manifest.rows - sum(record["rows"] for record in controls.values())
        rows -= sum(part["rows"] for part in parts if not part["weight"])
        overlap = WordOverlap(
            model=summary["model"],
            mean=overall["mean"],
            low=_end(overall, "low"),
            high=_end(overall, "high"),
            n=overall["n"],
            digest8=summary["dataset"]["digest8"],
            parts={part["name"]: part["mean"] for part in parts if part["name"] is not None},
            guessed=controls.get("no_context", {}).get("guess_rate"),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NiahError(f"{path}: not what niah-score score writes ({error!r}); score the answers again") from None
    if overlap.digest8 != manifest.digest8:
        raise IntegrityError(
            f"{path}: scores of dataset {overlap.digest8!r}, this one is {manifest.digest8!r}; answer and score this "
            "dataset"
        )
    if overlap.n != rows:
        raise NiahError(f"{path}: {overlap.n:,} of {rows:,} rows are scored; score all, with --missing zero")
    return overlap


def _end(overall: dict[str, float | None], name: str) -> Any:
    """An end of the interval over needles; if there is none (a single needle), that for these needles alone."""
    return overall[f"{name}_these"] if overall[name] is None else overall[name]


def kept(folder: Path, plan_digest: str) -> tuple[WordOverlap, ...]:
    """The scores in the card of a dataset folder that are for this plan's rows."""
    try:
        front = (folder / CARD).read_text("utf-8").split("\n---\n")[0]
        (line,) = (line for line in front.split("\n") if line.startswith(f"{KEY}: "))
        scores = [WordOverlap(**record) for record in json.loads(line.removeprefix(f"{KEY}: "))["figures"]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ()
    return tuple(one for one in scores if one.digest8 == plan_digest[:8])


def front_matter(overlap: Sequence[WordOverlap]) -> dict[str, object]:
    """The entry of the card's YAML for these scores: a table, which is written as one line of JSON."""
    return {KEY: {"figures": [asdict(one) for one in overlap]}} if overlap else {}


def stated(overlap: Sequence[WordOverlap]) -> Iterator[str]:
    """The lines of a card that state these scores: a sentence for each, and a table of the parts."""
    for one in overlap:
        yield from (paragraph_in_markdown(one.sentence()), "")
    names = list(dict.fromkeys(name for one in overlap for name in one.parts))
    guessed = any(one.guessed is not None for one in overlap)
    if names or guessed:
        yield "| part | " + " | ".join(in_markdown(one.model) for one in overlap) + " |"
        yield "|---|" + "---:|" * len(overlap)
        for name in names:
            yield _line(in_markdown(name), [one.parts.get(name) for one in overlap])
        if guessed:
            yield _line("answered without a context (%)", [one.guessed for one in overlap])
        yield ""


def _line(head: str, figures: Sequence[float | None]) -> str:
    return f"| {head} | " + " | ".join("" if figure is None else f"{figure:.1f}" for figure in figures) + " |"
