"""Counts what runs of our own code for one row, from its recipe to Parquet, and for one answer, from text to scores.

    python tests/benchmarks/walk.py

Every call of a function of niah_gen or niah_score is counted, once for each generator; bodies of modules and classes,
which run when they are imported, are not. For an answer it is the mean over answers of every kind to the default set,
each judged on its own after another one to the same row, so that what is prepared once for a row does not count.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
# A generator that goes on is called at a later instruction than these.
_FIRST = 4
ROW = {"lengths": [1000], "depths": [50], "needles": ["velden-archive"], "corpora": ["en_essays"]}
# How answers are made from the reference answer of their row.
ANSWERS: tuple[Callable[[str], str], ...] = (
    lambda answer: answer,
    lambda answer: f"According to the text, the answer is {answer}",
    lambda answer: f"<think>Let me look it up in the text.</think>\n\n**{answer}**",
    lambda answer: f"It is {answer}, or perhaps something else.",
    lambda _: "The text does not mention it.",
    lambda _: "I believe that it was the old harbour on the other side of the river.",
)


def counted_calls(work: Callable[[], object]) -> Counter[tuple[str, str]]:
    """How often each of our functions is called, by module and name."""
    calls: Counter[tuple[str, str]] = Counter()
    ours = tuple(f"{ROOT / package}/" for package in ("niah_gen", "niah_score"))

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        begins = event == "call" and frame.f_lasti < _FIRST and code.co_flags & inspect.CO_OPTIMIZED
        if begins and code.co_filename.startswith(ours):
            calls[code.co_filename, code.co_qualname] += 1

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def walk_of_an_answer(folder: Path) -> None:
    """Print how many modules and calls an answer to the default set takes, and how many functions all of them."""
    import niah_gen
    from niah_score.judge import Judge
    from niah_score.metrics import default_metrics

    dataset = niah_gen.build("default", folder, overrides={"lengths": [2000]})
    judge = Judge(dataset, metrics=default_metrics())
    table = judge.rows.whole()
    modules = Counter[str]()
    all_calls: Counter[tuple[str, str]] = Counter()
    for number, (name, answers) in enumerate(table.select("id", "answers").iter_rows()):
        text = ANSWERS[number % len(ANSWERS)](answers[0])
        judge(name, "It says so.")
        calls = counted_calls(lambda name=name, text=text: judge(name, text))  # type: ignore[misc]
        modules.update({str(Path(file).relative_to(ROOT)) for file, _ in calls})
        all_calls += calls
    rows = table.height
    for module, count in modules.most_common():
        own = sum(many for (file, _), many in all_calls.items() if file.endswith(module))
        print(f"{count / rows:9.2f} {own / rows:9.1f}  {module}")
    print(
        f"one answer, mean over {rows}: {sum(modules.values()) / rows:.1f} modules, "
        f"{sum(all_calls.values()) / rows:.0f} calls"
    )


def main() -> None:
    import niah_gen

    with tempfile.TemporaryDirectory() as folder:
        calls = counted_calls(lambda: niah_gen.build("plain", folder, overrides=ROW))
        modules = Counter[str]()
        for (file, _), count in calls.items():
            modules[str(Path(file).relative_to(ROOT))] += count
        for module, count in modules.most_common():
            print(f"{count:9,}  {module}")
        print(f"one row: {len(modules)} modules, {len(calls)} functions, {sum(calls.values()):,} calls")
        walk_of_an_answer(Path(folder))


if __name__ == "__main__":
    main()
