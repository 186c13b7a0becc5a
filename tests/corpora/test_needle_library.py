"""There are enough bundled needles of each kind, and each is a sentence that alone answers its question."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from each import each
from quality import words

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tasks.needle_doubts import doubts
from niah_gen.tasks.needle_library import Needle, needle_files
from niah_score.text import fold, holds

LANGUAGES = ("en", "zh")
KINDS = ("single", "list", "chain")
OWN = [needle for kind in KINDS for code in LANGUAGES for needle in needle_files()[f"{kind}-{code}"]]
SETS = [needle for needle in OWN if needle.kind != "single"]


def mentions(text: str, group: tuple[str, ...]) -> bool:
    return any(holds(fold(text), keyword) for keyword in group)


def test_each_language_has_at_least_twelve_single_needles_and_six_sets() -> None:
    for code in LANGUAGES:
        assert len(needle_files()[f"single-{code}"]) >= 12
        lists, chains = needle_files()[f"list-{code}"], needle_files()[f"chain-{code}"]
        assert len(lists) + len(chains) >= 6
        assert {3, 10} <= {len(needle.needles) for needle in lists} <= set(range(3, 11))
        assert {2, 5} <= {len(needle.needles) for needle in chains} <= set(range(2, 6))


@each("needle", OWN)
def test_a_needle_raises_no_doubts_and_has_the_metric_of_its_kind(needle: Needle) -> None:
    assert doubts(needle) == []
    assert needle.keywords
    assert needle.metric == ("keyword_f1" if needle.kind == "list" else "keyword")


@each("needle", OWN)
def test_every_text_is_one_whole_sentence_in_the_style_of_its_language(needle: Needle) -> None:
    for text in needle.needles:
        assert sentence_ends(text) == [len(text)], "not one sentence wherever a line begins with it"
        assert text == text.strip()
        body = re.sub(r"“[^”]*”|\"[^\"]*\"|'[^']*'", "", text)
        assert len(re.findall(r"[.。!?！？](?!\d)", body)) == 1, text
        if needle.language == "en":
            assert 10 <= len(text.split()) <= 35
            assert text.replace("£", "").isascii()
        else:
            assert 18 <= len(text) <= 60
            assert not re.search(r"[\s,;:?!()\"]", text)
    assert all(ask.endswith("?" if needle.language == "en" else "？") for ask in (needle.question, needle.paraphrase))


@each("needle", SETS)
def test_each_text_of_a_list_and_only_the_last_of_a_chain_states_an_answer(needle: Needle) -> None:
    stated = [[mentions(text, group) for text in needle.needles] for group in needle.keywords]
    if needle.kind == "list":
        assert stated == [[place == number for place in range(len(stated))] for number in range(len(stated))]
    else:
        assert stated == [[False] * (len(needle.needles) - 1) + [True]]


@pytest.mark.slow
def test_no_needle_or_question_states_the_answer_of_another() -> None:
    for one, other in combinations(OWN, 2):
        for asked, read in ((one, other), (other, one)):
            written = [text for text in (*read.needles, read.question, read.paraphrase) if text]
            assert not [group for group in asked.keywords if any(mentions(text, group) for text in written)], (
                asked.id,
                read.id,
            )
    texts = [text for needle in OWN for text in needle.needles]
    assert len(set(texts)) == len(texts)


@each("needle", OWN)
def test_the_paraphrase_shares_few_words_with_the_question_and_the_texts(needle: Needle) -> None:
    """Names do not count: questions need them."""
    common = {"en": _COMMON_ENGLISH, "zh": _COMMON_CHINESE}[needle.language]

    def content(text: str) -> set[str]:
        return {word for word in words([text], needle.language) if word not in common and not word.isdigit()}

    question, paraphrase, texts = (
        content(needle.question),
        content(needle.paraphrase),
        content(" ".join(needle.needles)),
    )
    names = {word.casefold() for word in re.findall(r"[A-Z][\w']+", " ".join((needle.question, *needle.needles)))}
    shared = {word for word in paraphrase & (question | texts) if word not in names and len(word) > 1}
    allowed = 2 if needle.language == "en" else 3
    assert len(shared) <= allowed, shared


_COMMON_ENGLISH = re.findall(
    r"\w+",
    "a an the of in on at to for by with from and or is are was were be been has have had do does did it its that this "
    "which what who whom whose where when how much many all each every one under their his her they as up out there "
    "these those into than not no",
)
_COMMON_CHINESE = re.findall(
    r"\w+",
    "的 了 在 是 和 与 由 把 被 从 到 给 用 有 哪 哪些 哪个 哪里 哪位 什么 谁 多少 几 一 个 里 上 下 中 每",
)
