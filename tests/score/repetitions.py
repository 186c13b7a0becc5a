"""Makes answers of one or two tokens repeated, as models that loop write them, and rows of every kind to judge."""

from __future__ import annotations

import json
import re
import signal
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from niah_score.judge import Judge
from niah_score.metrics import default_metrics
from niah_score.scoring import extract_answer, json_answers, markup, reasoning
from niah_score.text import money, numerals, phrases, times, voiding
from niah_score.text.language import find_language, language_codes

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
# Tells of a runaway: a tail after the repetition makes a pattern that reached the end go back.
TAILS = ("", " x", "é", "!", " 417 celadon")


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


def tokens() -> list[str]:
    """Every token that a reader knows, from the readers' own tables and the language files."""
    said: list[str] = [
        *numerals.NUMBER_WORDS, *numerals.HAN, *times.BEFORE_NOON, *times.AFTER_NOON, *times.AROUND_NOON,
        *times.MONTHS, *money.CURRENCIES, *json_answers._FIELDS, *reasoning.SPECIAL, reasoning.FINAL,
        *(tag for pair in reasoning.REASONING_TAGS for tag in pair),
        *"0123456789 \n\t.,:;!?-–—'’\"“”()[]{}<>|/\\*_`~#$£€¥&%@^=+，。；：！？、「」（）…·•①¹\u0301\u0323é一ا",
        "**", "~~", "```", "$$", "- ", "* ", "1. ", "1) ", "(1) ", "① ", "[1]", "| - ", "---", "> ", "# ", "](",
        "&amp;",
        "1", "1 ", "1-1", "19:52", "7:52pm", "£4.35", "4块3毛5", "23/2", "2月23日", "12月", "1.5万", "111 ", "417 or ",
        '{"answer":', '{"a":', '["', "[[", '{"answer": [', '"answer": ', '\\u4e00', "\\boxed{", "\\text{", "}}", "$ $",
        "<answer>", "</answer>", "<b>", "<p ", "answer: ", "final answer: ", "答案：", "答案是", "question: ",
        "because",
        "the upper team", "the lower team", "上街", "celadon", "lilac", "and", "or", "not", "not-", "或者", "twenty-",
        "the text does not say", "i cannot", "文中未提及", "a", "if", "in", "x\n",
    ]  # fmt: skip
    subjects = tomllib.loads(phrases.FILE.read_text("utf-8"))
    of_modules = map(vars, (voiding, extract_answer, markup, reasoning, times))
    for known in (*of_modules, *subjects.values()):
        for value in known.values():
            pattern = value if isinstance(value, str) else getattr(value, "pattern", "")
            said += re.findall(r"[A-Za-z][a-z' ]+|[\u4e00-\u9fff]+", str(pattern)) if len(str(pattern)) < 5_000 else []
    for code in language_codes():
        language = find_language(code)
        rules, own = language.matching, language.answers
        patterns = [*own.absent, *own.refuses, *own.guesses]
        if rules:
            said += [*rules.numbers, *rules.number_joints, *rules.articles, *rules.before_noon, *rules.after_noon]
            said += [*rules.choice, *(name for names in rules.months for name in names)]
            said += [word for words in rules.money.values() for word in words]
            said += [form.format(hour=9, minute=52, day=23, month="mai") + " " for form in (*rules.times, *rules.dates)]
            patterns += [*rules.denied_before, *rules.denied_after]
        said += [word for pattern in patterns for word in re.findall(r"[^\W\d_]{2,}", pattern.replace("\\b", " "))]
    said += [f"{word} " for word in said if word.strip() == word]
    return list(dict.fromkeys(filter(None, said)))


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
