"""Measures building task families beside RULER's loops: whole processes of ours, its loops as published, in one run.

make bench            niah_single_2 needs paul_graham (or NIAH_CORPORA) and NLTK's punkt_tab (NLTK_DATA); without
                      them it is left out

A loop is timed for a few samples; what it takes once (words, the search for a size) and a sample are told apart, and
500 samples are computed from both. Ours are 500 rows, from start to hashed Parquet.
"""

from __future__ import annotations

import math
import os
import random
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tiktoken

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import NiahError
from niah_gen.tasks.published.ruler.punkt import sentence_spans
from niah_gen.tasks.published.ruler.templates import CODED_WORDS, COMMON_WORDS, NIAH, VARIABLE_TRACKING
from niah_gen.tasks.published.ruler.words import vocabulary, word_list
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

SAMPLES = 500
NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
NEEDLE = "One of the special magic numbers for {key} is: {value}."
DEPTHS = [round(depth) for depth in np.linspace(0, 100, 40)]

Draw = Callable[[int], str]
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Compared(NamedTuple):
    """A loop and the preset of ours that asks the same. `goals`: how many times as fast, at 4k and at 128k."""

    name: str
    loop: Callable[[int], tuple[Draw, int, int]]
    preset: str
    more: tuple[str, ...]
    goals: tuple[float, float]


def niah(haystack: str) -> Callable[[int], tuple[Draw, int, int]]:
    """RULER's loop of a niah task; returns how a prompt of a size is drawn, the step of sizes, and the tokens kept."""

    def start(length: int) -> tuple[Draw, int, int]:
        random.seed(42)
        words = sorted({f"{adjective}-{noun}" for adjective in word_list("adjective") for noun in word_list("noun")})
        essay = (
            "".join(d.text for d in read_corpus(locate("paul_graham")).documents).split() if haystack == "essay" else []
        )

        def needle() -> str:
            return NEEDLE.format(key=random.choice(words), value=random.randint(10**6, 10**7 - 1))

        def draw(size: int) -> str:
            hidden = needle()
            if haystack == "essay":
                text = " ".join((essay * (size // len(essay) + 1))[:size])
                sentences = [text[start:end] for start, end in sentence_spans(text)]
                cut = int(len(sentences) * random.choice(DEPTHS) / 100)
                context = " ".join([*sentences[:cut], hidden, *sentences[cut:]])
            else:
                lines = [needle() for _ in range(size)]
                lines.insert(random.randrange(size), hidden)
                context = "\n".join(lines)
            return NIAH.prompt.format(type_needle_v="number", context=context, query="key") + NIAH.prefix

        return draw, 500 if haystack == "essay" else 25, 128

    return start


def variable_tracking(length: int) -> tuple[Draw, int, int]:
    """RULER's loop of vt."""
    random.seed(42)

    def draw(size: int) -> str:
        names = ["".join(random.choices(string.ascii_uppercase, k=5)) for _ in range(5)]
        value = str(np.random.randint(10000, 99999))
        chain = [f"VAR {names[0]} = {value}", *(f"VAR {b} = VAR {a} " for a, b in pairwise(names))]
        lines = [NOISE] * size
        for number, place in enumerate(sorted(random.sample(range(size), 5))):
            lines.insert(place + number, chain[number])
        return VARIABLE_TRACKING.prompt.format(context="\n".join(lines).replace(". \n", ".\n"), query=value)

    return draw, 10, 30


def common_words(length: int) -> tuple[Draw, int, int]:
    """RULER's loop of cwe; above the vocabulary it repeats words, as the file for longer lists is not at hand."""
    random.seed(42)
    words = list(vocabulary()) * (1 + length // 16384)

    def draw(size: int) -> str:
        chosen = random.sample(words, size)
        items = chosen[:10] * 30 + chosen[10:] * 3
        random.Random(42).shuffle(items)
        return COMMON_WORDS.prompt.format(context=" ".join(f"{n}. {word}" for n, word in enumerate(items, 1)))

    return draw, 10, 120


def coded_words(length: int) -> tuple[Draw, int, int]:
    """RULER's loop of fwe; a size is a 32nd of the budget."""
    random.seed(42)
    count = (length - 50) // 50

    def draw(size: int) -> str:
        words = ["".join(random.choices(string.ascii_lowercase, k=6)) for _ in range(count)]
        counts = (size * np.arange(1, count + 1) ** -2.0 / (math.pi**2 / 6)).astype(int)
        text = [word for word, times in zip(words, counts, strict=True) for _ in range(times)]
        random.Random(42).shuffle(text)
        return CODED_WORDS.prompt.format(context=" ".join(text))

    return draw, (length - 50) // 32, 50


COMPARED = (
    Compared("niah_single_2, in essays", niah("essay"), "key-values", ("--set", "options.haystack=essay"), (10, 10)),
    Compared("niah_multikey_2, among its kind", niah("needle"), "key-values", (), (10, 10)),
    Compared(
        "vt",
        variable_tracking,
        "variable-tracking",
        ("--set", "options.hops=[4]", "--set", "options.chains=1"),
        (2, 10),
    ),
    Compared("cwe", common_words, "common-words", ("--set", "options.rows=1"), (2, 10)),
    Compared("fwe", coded_words, "coded-words", ("--set", "options.rows=1"), (2, 10)),
)


def seconds_of_loop(compared: Compared, length: int, encoding: tiktoken.Encoding) -> float:
    """Seconds of the published loop for 500 samples, computed from its start and a few samples."""
    began = time.perf_counter()
    draw, step, kept = compared.loop(length)

    def tokens(size: int) -> int:
        return len(encoding.encode(draw(size), disallowed_special=())) + kept

    each = tokens(step) / step
    low, high = step, max(int(length / each * 3), 2 * step)
    best = step
    while low <= high:
        middle = (low + high) // 2
        if tokens(middle) <= length:
            best, low = middle, middle + 1
        else:
            high = middle - 1
    start = time.perf_counter() - began
    few = 10 if length < 100_000 else 3
    began = time.perf_counter()
    for _ in range(few):
        size = best
        while tokens(size) > length and size > step:
            size -= step
    return start + SAMPLES * (time.perf_counter() - began) / few


def seconds_of_ours(compared: Compared, length: int, out: Path) -> float:
    """Seconds of a whole process that builds 500 rows; its modules are compiled, as after the first run anywhere."""
    executable = Path(sys.executable).with_name("niah-gen")
    asked = ["--length", str(length), "--repeats", str(SAMPLES), "--language", "en", "--set", "controls=[]"]
    if compared.preset not in ("common-words", "coded-words"):
        asked += ["--depths", "50"]
    began = time.perf_counter()
    subprocess.run(
        [executable, "build", compared.preset, *asked, *compared.more, "--jobs", "1", "--out", out],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=COMPILED,
    )  # fmt: skip
    return time.perf_counter() - began


def lines() -> Iterator[str]:
    """A line for every comparison."""
    tokenizer = find_tokenizer("cl100k_base")
    assert isinstance(tokenizer, BytePairTokenizer)
    encoding = tokenizer.encoding
    for compared in COMPARED:
        for length, goal in zip((4096, 131_072), compared.goals, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    published = seconds_of_loop(compared, length, encoding)
                except NiahError as error:
                    yield f"{compared.name}: left out ({error})"
                    break
                ours = seconds_of_ours(compared, length, Path(folder))
            yield (
                f"{compared.name:34} {length:7,} tokens x {SAMPLES}   published {published:7.1f} s   "
                f"{compared.preset} {ours:6.1f} s   {published / ours:6.1f} times, goal {goal:g}"
            )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as warm:
        seconds_of_ours(COMPARED[-1]._replace(more=("--set", "options.rows=1", "--repeats", "1")), 1000, Path(warm))
    for text in lines():
        print(text, flush=True)
