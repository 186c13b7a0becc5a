"""Runs the published generator of a RULER task as a whole process that writes rows, to be timed.

python tests/benchmarks/ruler_loops.py TASK LENGTH SAMPLES RANKS OUT

TASK: niah_single_2, niah_multikey_2, vt, cwe or fwe. RANKS: tiktoken's rank file of cl100k_base. Writes OUT as JSONL
and prints the seconds that a sample took. Written from the published steps: the same words, draws, templates, leading
examples and search for a size, and every prompt tokenised again while it is too long. Imports what the published
generators import, and nothing of this project but the files of words and templates. The driver that calls a generator,
a separate process, is left out.
"""

from __future__ import annotations

import json
import math
import random
import re
import string
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import tiktoken
from tiktoken.load import load_tiktoken_bpe

SEED = 42
NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
NEEDLE = "One of the special magic numbers for {key} is: {value}."
DEPTHS = [round(depth) for depth in np.linspace(0, 100, 40)]
WORDS = Path(__file__).parents[2] / "niah_gen" / "library" / "ruler"
TEMPLATES = tomllib.loads((WORDS / "templates.toml").read_text("utf-8"))
PATTERN = "|".join(
    (
        r"'(?i:[sdmt]|ll|ve|re)", r"[^\r\n\p{L}\p{N}]?+\p{L}++", r"\p{N}{1,3}+", r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"\s++$", r"\s*[\r\n]", r"\s+(?!\S)", r"\s",
    )
)  # fmt: skip

# A generator: the input of a given size, with its answers. A size is a number of words or lines.
Draw = Callable[[int], tuple[str, Sequence[str]]]
Count = Callable[[str], int]


def words_of(kind: str) -> list[str]:
    """The lines of a list of wonderwords."""
    return (WORDS / f"{kind}list.txt").read_text("utf-8").splitlines()


def largest(fits: Callable[[int], bool], low: int, high: int) -> int:
    """The largest size that fits, by bisection; the lower end if none does."""
    best = low
    while low <= high:
        middle = (low + high) // 2
        if fits(middle):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def sized(draw: Draw, count: Count, length: int, kept: int, step: int) -> int:
    """The size that RULER searches for: tokens per unit from one probe, then bisection."""
    unit = count(draw(step)[0]) / step
    return largest(lambda size: count(draw(size)[0]) + kept <= length, step, max(int(length / unit * 3), 2 * step))


def niah(haystack: str, length: int, count: Count) -> tuple[Draw, int, int]:
    """How a niah prompt is drawn, its size, and the step by which the size shrinks while a prompt is too long."""
    words = sorted({f"{adjective}-{noun}" for adjective in words_of("adjective") for noun in words_of("noun")})
    essay = essays() if haystack == "essay" else []
    template = (
        (TEMPLATES["niah"]["prompt"] + TEMPLATES["niah"]["prefix"])
        .replace("Some", "A")
        .replace("are all", "is")
        .replace("are", "is")
    )
    template = template.replace("answers", "answer")

    def needle() -> tuple[str, str, str]:
        key, value = random.choice(words), str(random.randint(10**6, 10**7 - 1))
        return NEEDLE.format(key=key, value=value), key, value

    def draw(size: int) -> tuple[str, list[str]]:
        hidden, key, value = needle()
        if haystack == "essay":
            from nltk.tokenize import sent_tokenize

            text = " ".join((essay * (size // len(essay) + 1))[:size])
            sentences = sent_tokenize(text.strip())
            cut = int(len(sentences) * (random.sample(DEPTHS, 1)[0] / 100))
            context = " ".join([" ".join(sentences[:cut]), hidden, " ".join(sentences[cut:])])
        else:
            lines = [needle()[0] for _ in range(size)]
            lines.insert(random.sample(range(size), 1)[0], hidden)
            context = "\n".join(lines)
        return template.format(type_needle_v="number", context=context, query=key), [value]

    step = 500 if haystack == "essay" else 25
    return draw, sized(draw, count, length, 128, step), step


def essays() -> list[str]:
    """The words of the essays."""
    from niah_gen.corpora.find import locate
    from niah_gen.corpora.read import read_corpus

    text = "".join(document.text for document in read_corpus(locate("paul_graham")).documents)
    return re.sub(r"\s+", " ", text).split(" ")


def variable_tracking(length: int, count: Count) -> tuple[Draw, int, int]:
    """How a vt prompt is drawn, after an example that is rewritten for every prompt."""
    template = TEMPLATES["variable_tracking"]["prompt"] + TEMPLATES["variable_tracking"]["prefix"]

    def asked(size: int, letters: int, value: str) -> tuple[str, list[str]]:
        names = ["".join(random.choices(string.ascii_uppercase, k=letters)) for _ in range(5)]
        chain = [f"VAR {names[0]} = {value}", *(f"VAR {after} = VAR {before} " for before, after in pairwise(names))]
        lines = [NOISE] * size
        for number, place in enumerate(sorted(random.sample(range(len(lines)), len(chain)))):
            lines.insert(place + number, chain[number])
        context = "\n".join(lines).replace(". \n", ".\n")
        return template.format(context=context, query=value, num_v=5), names

    size = largest(lambda lines: count(asked(lines, 3, "12345")[0]) <= 500, 5, 60)
    example, shown = asked(size, 3, "12345")
    example = f"{example} {' '.join(shown)}\n\n"

    def rewritten() -> str:
        text = example
        for name in shown:
            text = text.replace(name, "".join(random.choices(string.ascii_uppercase, k=len(name))))
        return text.replace("12345", str(np.random.randint(10000, 99999)))

    def draw(size: int) -> tuple[str, list[str]]:
        text, names = asked(size, 5, str(np.random.randint(10000, 99999)))
        return rewritten() + text, names

    return draw, sized(draw, count, length, 30, 10), 10


def common_words(length: int, count: Count) -> tuple[Draw, int, int]:
    """How a cwe prompt is drawn, after an example of 40 words.

    Beyond the vocabulary it repeats words, as the published file of words for longer lists is not at hand.
    """
    vocabulary = sorted({word for kind in ("noun", "adjective", "verb") for word in words_of(kind)})
    random.Random(SEED).shuffle(vocabulary)
    vocabulary *= 1 + length // 16384
    template = TEMPLATES["common_words"]["prompt"] + TEMPLATES["common_words"]["prefix"]

    def asked(size: int, often: int, seldom: int) -> tuple[str, list[str]]:
        chosen = random.sample(vocabulary, size)
        items = chosen[:10] * often + chosen[10:] * seldom
        random.Random(SEED).shuffle(items)
        return template.format(context=" ".join(f"{n}. {word}" for n, word in enumerate(items, 1))), chosen[:10]

    def draw(size: int) -> tuple[str, list[str]]:
        example, shown = asked(40, 10, 3)
        answer = " ".join(f"{n}. {word}" for n, word in enumerate(shown, 1))
        text, common = asked(size, 30, 3)
        return f"{example} {answer}\n{text}", common

    unit = count(draw(4096)[0]) / 4096
    most = min(int(length // unit) * 2, len(vocabulary))
    return draw, largest(lambda size: count(draw(size)[0]) + 120 <= length, 10, most), 10


def coded_words(length: int, count: Count) -> tuple[Draw, int, int]:
    """How an fwe prompt is drawn."""
    budget = length - 50
    template = TEMPLATES["coded_words"]["prompt"] + TEMPLATES["coded_words"]["prefix"]
    zeta = math.pi**2 / 6

    def draw(size: int) -> tuple[str, list[str]]:
        codes: set[str] = set()
        while len(codes) < budget // 50:
            codes.add("".join(random.choices(string.ascii_lowercase, k=6)))
        words = sorted(codes)
        random.Random(SEED).shuffle(words)
        words[0] = "..."
        counts = [int(size * rank**-2.0 / zeta) for rank in range(1, len(words) + 1)]
        text = [word for word, times in zip(words, counts, strict=True) for _ in range(times)]
        random.Random(SEED).shuffle(text)
        return template.format(context=" ".join(text)), words[1:4]

    size, step = budget // 6, budget // 32
    while count(draw(size + step)[0]) < budget:
        size += step
    return draw, size, step


def main(task: str, length: int, samples: int, ranks: str, out: str) -> None:
    """Draw the samples of a task, and write them."""
    random.seed(SEED)
    np.random.seed(SEED)
    encoding = tiktoken.Encoding(
        "cl100k_base",
        pat_str=PATTERN,
        mergeable_ranks=load_tiktoken_bpe(ranks),
        special_tokens={"<|endoftext|>": 100257},
    )

    def count(text: str) -> int:
        return len(encoding.encode(text))

    kept, prefix, start = _tasks(length, count)[task]
    draw, best, step = start()
    rows = []
    began = time.perf_counter()
    for number in range(samples):
        size = best
        text, answers = draw(size)
        while (tokens := count(text) + kept) > length and size > step:
            size -= step
            text, answers = draw(size)
        cut = text.rfind(prefix[:10])
        rows.append(
            {"index": number, "input": text[:cut], "outputs": answers, "length": tokens, "answer_prefix": text[cut:]}
        )
    seconds = (time.perf_counter() - began) / samples
    with open(out, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
    print(seconds)


def _tasks(length: int, count: Count) -> dict[str, tuple[int, str, Callable[[], tuple[Draw, int, int]]]]:
    def prefix(name: str) -> str:
        return str(TEMPLATES[name]["prefix"])

    return {
        "niah_single_2": (128, prefix("niah"), lambda: niah("essay", length, count)),
        "niah_multikey_2": (128, prefix("niah"), lambda: niah("needle", length, count)),
        "vt": (30, prefix("variable_tracking"), lambda: variable_tracking(length, count)),
        "cwe": (120, prefix("common_words"), lambda: common_words(length, count)),
        "fwe": (50, prefix("coded_words"), lambda: coded_words(length, count)),
    }


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
