"""Measures what distinguishes written prose from filler: repetition, shared runs, rhythm, vocabulary.

make measure            the bundled corpora beside the real ones, as in docs/corpora.md

Texts are counted in units: words of English, characters of Chinese. Punctuation and white space do not count, so that
a comma more or less does not hide that two documents say the same.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import Corpus, read_corpus
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.find import find_tokenizer

SHARED_RUN = {"en": 12, "zh": 20}  # units: no two documents may share a run of this length
PHRASE = {"en": 5, "zh": 8}  # units: long enough for repeating one to be a habit of the writer
VOCABULARY_BLOCK = 5000  # words: vocabularies are compared over equally long stretches
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Names of works, laws and notices, and short sayings, may be quoted in more than one document.
_QUOTED = re.compile(r"《[^《》\n]{1,60}》|“[^“”\n]{1,40}”|\"[^\"\n]{1,80}\"")
_BREAK = "\0"


def units(text: str, language: str) -> list[str]:
    """The units of a text, with quoted names replaced by a break that no run crosses."""
    text = _QUOTED.sub(f" {_BREAK} ", text)
    if language == "en":
        return re.findall(rf"{_BREAK}|{_WORD.pattern}", text.casefold())
    return [char for char in text.casefold() if char.isalnum() or char == _BREAK]


def runs(sequence: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Every run of `length` units, none across a break."""
    since = 0
    for end, unit in enumerate(sequence, 1):
        since = 0 if unit == _BREAK else since + 1
        if since >= length:
            yield tuple(sequence[end - length : end])


def shared_runs(documents: Sequence[Sequence[str]], length: int) -> list[tuple[int, int, str]]:
    """Runs of `length` units that occur in two documents, or twice in one: (one, the other, the first such run)."""
    seen: dict[int, int] = {}  # by hash: two 64-bit hashes hardly ever collide in a few million runs
    shared: dict[tuple[int, int], str] = {}
    for number, document in enumerate(documents):
        mine: dict[int, int] = {}
        for place, run in enumerate(runs(document, length)):
            key = hash(run)
            if key in seen or (key in mine and place >= mine[key] + length):
                shared.setdefault((seen.get(key, number), number), " ".join(run))
            mine.setdefault(key, place)
        for key in mine:
            seen.setdefault(key, number)
    return [(one, other, run) for (one, other), run in shared.items()]


def longest_shared(documents: Sequence[Sequence[str]]) -> int:
    """The length of the longest run of units that two different documents share."""

    def any_shared(length: int) -> bool:
        return any(one != other for one, other, _ in shared_runs(documents, length))

    low, high = 0, 1
    while any_shared(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if any_shared(middle) else (low, middle)
    return low


def repeated_within(documents: Iterable[Sequence[str]], length: int) -> float:
    """The percentage of runs that occurred before in their own document."""
    total = again = 0
    for document in documents:
        counts = Counter(runs(document, length))
        total += counts.total()
        again += counts.total() - len(counts)
    return 100 * again / max(1, total)


def repeated_across(documents: Iterable[Sequence[str]], length: int) -> float:
    """The percentage of a document's distinct runs that occur in another document, too."""
    distinct = [set(runs(document, length)) for document in documents]
    holders = Counter(run for each in distinct for run in each)
    total = sum(map(len, distinct))
    return 100 * sum(sum(holders[run] > 1 for run in each) for each in distinct) / max(1, total)


def sentence_lengths(texts: Iterable[str], language: str) -> list[int]:
    """The number of units in every sentence that has any."""
    lengths = []
    for text in texts:
        cuts = [0, *sentence_ends(text), len(text)]
        for start, end in pairwise(cuts):
            sentence = text[start:end]
            count = len(_WORD.findall(sentence)) if language == "en" else sum(map(str.isalnum, sentence))
            lengths += [count] if count else []
    return lengths


def words(texts: Iterable[str], language: str) -> list[str]:
    """The words of texts: by jieba for Chinese, between white space and punctuation for English."""
    if language == "en":
        return [word for text in texts for word in _WORD.findall(text.casefold())]
    import jieba

    jieba.setLogLevel(60)
    return [word for text in texts for word in jieba.lcut(text) if any(map(str.isalnum, word))]


def vocabulary(texts: Iterable[str], language: str) -> float:
    """Distinct words in 5,000: the mean over the whole blocks of that length, nan if there is none."""
    all_words = words(texts, language)
    blocks = [
        all_words[at : at + VOCABULARY_BLOCK]
        for at in range(0, len(all_words) - VOCABULARY_BLOCK + 1, VOCABULARY_BLOCK)
    ]
    return statistics.fmean(len(set(block)) for block in blocks) if blocks else float("nan")


def line(name: str, corpus: Corpus, most_tokens: int | None = None) -> tuple[str, int]:
    """A line of the table for a corpus, or for its first documents up to so many tokens; and its tokens."""
    tokenizer, language = find_tokenizer("cl100k_base"), corpus.language
    texts: list[str] = []
    tokens = 0
    for document in corpus.documents:
        if most_tokens is not None and tokens >= most_tokens:
            break
        texts.append(document.text)
        tokens += tokenizer.count(document.text)
    documents = [units(text, language) for text in texts]
    tenths = statistics.quantiles(sentence_lengths(texts, language), n=10)
    return (
        f"| {name} | {len(texts)} | {tokens:,} | {repeated_within(documents, PHRASE[language]):.2f} % | "
        f"{repeated_across(documents, PHRASE[language]):.2f} % | {longest_shared(documents)} | "
        f"{tenths[0]:.0f} / {tenths[4]:.0f} / {tenths[8]:.0f} | {vocabulary(texts, language):.0f} |"
    ), tokens


def main() -> None:
    """Print the table of docs/corpora.md. The real corpora are cut to the size of ours: shares grow with size."""
    beside = Path(__file__).parents[3] / "shared" / "corpora"
    domains = ("finance", "game", "general", "government", "movie", "tech")
    pairs = [("en_essays", "paul_graham"), *((f"zh_articles/zh_{name}", f"cdme/zh_{name}") for name in domains)]
    print("| corpus | documents | tokens | again within | in another | longest shared | sentences | vocabulary |")
    print("|---|---|---|---|---|---|---|---|")
    for ours, real in pairs:
        text, tokens = line(ours, read_corpus(locate(ours)))
        print(text, flush=True)
        place = str(beside / real) + (".jsonl" if real.startswith("cdme") else "")
        if Path(place).exists():
            print(line(real, read_corpus(locate(place)), tokens)[0], flush=True)


if __name__ == "__main__":
    main()
