"""Makes answers of one or two tokens repeated, as models that loop write them, and rows of every kind to judge."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from niah_score.judge import Judge
from niah_score.metrics import default_metrics
from niah_score.text.language import language_codes

FACTS = {
    "text": ("celadon", "maroon", "ochre"),
    "number": ("1318", "417", "26"),
    "time": ("19:52", "6:17", "9:41"),
    "date": ("23 February", "19 November", "1 May"),
    "lunar_date": ("腊月十七", "正月初五", "冬月廿三"),
    "amount:GBP": ("£4.35", "£1,486", "£12"),
    "pair": ("lilac", "green", "grey"),
}
OWNERS = ("pair:the upper team|上街", "pair:the lower team|下街")


def rows_of_every_kind(folder: Path) -> Judge:
    """Rows named `kind/language`, each with two facts of the kind and a decoy."""
    lines = []
    for language in language_codes():
        for kind, (first, second, decoy) in FACTS.items():
            kinds = list(OWNERS) if kind == "pair" else [kind, kind]
            rejects = [["the lower team", "下街"], ["the upper team", "上街"]] if kind == "pair" else [["metres"], []]
            row = {
                "id": f"{kind}/{language}", "question": "Which?", "answers": [f"{first} and {second}"],
                "keywords": [[first], [second]], "keyword_kinds": kinds, "rejects": rejects, "decoys": [[decoy]],
                "language": language, "metric": "keyword_f1", "needle_id": kind, "needles": [first, second],
            }  # fmt: skip
            lines.append(json.dumps(row, ensure_ascii=False))
    path = folder / "rows.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return Judge(path, metrics=default_metrics())


def repeated(pattern: str, size: int, tail: str = "", head: str = "") -> str:
    """A text of about `size` characters."""
    return head + pattern * max(1, size // len(pattern)) + tail


class TooSlowError(Exception):
    """Raised inside what runs, when it has used its processor time."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooSlowError as soon as what runs has used this much processor time; it also interrupts patterns."""

    def stop(signal_number: int, frame: FrameType | None) -> None:
        raise TooSlowError

    former = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)


def seconds_to_judge(judge: Judge, row: str, text: str, most: float) -> float:
    """The processor time that judging an answer takes; `most` if it takes longer."""
    begun = time.process_time()
    try:
        with at_most(most):
            judge(row, text)
    except TooSlowError:
        return most
    return time.process_time() - begun
