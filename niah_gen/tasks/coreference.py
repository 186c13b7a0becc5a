"""Asks to repeat, word for word, the reply to the i-th of several like requests in a conversation: MRCR on a grid.

The conversation consists of requests for a passage on a subject, and passages as replies. Each request is made k times
and gets a different passage each time. The last message names a subject and a number and asks for that reply after a
random prefix. Rows of one (corpus, length, k, repeat) ask about the same conversation, each about the turn nearest to
its depth. The task is multi-round coreference resolution (K. Vodrahalli et al., Michelangelo, arXiv 2409.12640);
subjects, wording and code are this project's own.
"""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import chain, islice

from niah_gen.haystacks.boundaries import joiner_of
from niah_gen.haystacks.conversation import Material, Turn, fill_conversation, most_requests
from niah_gen.prompts.frame import PromptMessage, said
from niah_gen.tasks.base import CONTROLS, NO_CONTEXT, Replay, Task
from niah_gen.tasks.hiding import FITTED_WHOLE
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import WITHOUT_CONTEXT, Cell, Context, Item, Replayed, Settings, Workbench, cell_seed
from niah_gen.tasks.words import ordinal, wording
from niah_gen.tokenizers.counted import Edit, counted

# DeepMind's grader takes twelve characters as the prefix; with as many here, `mrcr_v2` can judge the rows too.
_PREFIX_LENGTH = 12
_LETTERS = string.ascii_letters + string.digits
# How many prefixes are tried at most to give every question the same number of tokens.
_MOST_DRAWS = 5_000
_SAMPLES, _SHORT_SAMPLE = 40, 3
# Questions about the subjects of a conversation differ by fewer tokens than this, if there are enough such subjects.
_NEAR = 2
_UNSURE = 2  # tokens kept free for a tokenizer whose counts of parts do not add up


@dataclass(frozen=True, slots=True)
class CoreferenceOptions:
    """The recipe's [options]. `like`: how many like requests, an item for each number.

    `reply_tokens`: about how many tokens a reply has; fewer if a length would not hold all like requests otherwise.
    """

    like: tuple[int, ...] = (2, 4, 8)
    reply_tokens: int = 120

    def __post_init__(self) -> None:
        check_options(self, like=range(2, 21), reply_tokens=range(20, 2001))


def subjects(language: str, count: int, seed: str, sizes: Callable[[str], int]) -> list[str]:
    """Draws `count` subjects, or all if there are fewer, from as few words as possible, so that many share a word.

    `sizes`: returns the tokens of a question about a subject. They are nearly equal, if there are enough such subjects.
    """
    said = wording("coreference")[language]
    first, second = list(said["first"]), list(said["second"])
    draw = random.Random(f"{seed}/subjects")
    draw.shuffle(first)
    draw.shuffle(second)
    places = sorted(((n, m) for n in range(len(first)) for m in range(len(second))), key=lambda at: (max(at), at))
    made = [said["subject"].format(first=first[n], second=second[m]) for n, m in places]
    tokens = list(map(sizes, made))
    many = Counter(tokens)
    for width in range(_NEAR, max(tokens) - min(tokens) + 1):
        least = max(many, key=lambda low: (sum(many[low + more] for more in range(width)), -low))
        near = [subject for subject, size in zip(made, tokens, strict=True) if least <= size < least + width]
        if len(near) >= count:
            break
    else:
        near = made
    chosen = near[:count]
    draw.shuffle(chosen)
    return chosen


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"{number}-like" for number in settings.options.like] if language in wording("coreference") else []


class _Talk:
    """A conversation that consecutive cells share, and the prompts about it.

    `sizes`: returns the tokens of a question about a subject.
    """

    def __init__(self, bench: Workbench, cell: Cell, material: Material, sizes: Callable[[str], int]) -> None:
        self._language = cell.language
        self._said = wording("coreference")[cell.language]
        self._is_text = bench.form == "text"
        self._count = count = bench.tokenizer.count
        drawn_for = f"/{cell.depth!r}" if bench.fresh_haystacks else ""
        self._seed = f"{cell_seed(bench.seed, cell)}/coreference{drawn_for}"
        like = int(cell.needle.partition("-")[0])
        room = cell.length - bench.reserve - (0 if bench.tokenizer.local else _UNSURE)
        named = subjects(cell.language, most_requests(like, bench.options.reply_tokens, room), self._seed, sizes)
        self._subjects = {self._said["request"].format(subject=subject): subject for subject in named}
        # Sized with a short prefix in the longest question: longer prefixes will compensate for shorter subjects.
        self._sample = sorted(islice(_prefixes(self._seed), _SAMPLES), key=count)[_SHORT_SAMPLE]
        questions = (self._question(self._sample, n, subject) for subject in named for n in range(like))
        longest = max(map(self._last, questions), key=count)
        self._question_tokens = count(longest)
        self._conversation = fill_conversation(
            material, list(self._subjects), like, bench.options.reply_tokens, room - self._question_tokens,
            self._seed, self._turn_tokens,
        )  # fmt: skip
        self._source = counted(self._text(self._conversation.turns) if self._is_text else "", bench.tokenizer)

    def _question(self, prefix: str, number: int, subject: str) -> str:
        """The question for the reply to like request `number`, from 0."""
        nth = ordinal(number + 1, self._language)
        return str(self._said["question"].format(prefix=prefix, ordinal=nth, subject=subject))

    def _last(self, question: str) -> str:
        """The last message: the question; in a text also the name of the speaker who answers."""
        return f"{self._said['user']}{question}\n\n{self._said['assistant']}" if self._is_text else question

    def _text(self, turns: Sequence[Turn]) -> str:
        """Turns of a prompt that is one text."""
        user, assistant = self._said["user"], self._said["assistant"] + joiner_of(self._language)
        return "".join(f"{user}{turn.request}\n\n{assistant}{turn.reply}\n\n" for turn in turns)

    def _turn_tokens(self, request: str, reply: str) -> int:
        """Tokens of a turn, encoded alone."""
        parts = [self._text([Turn(request, reply, 0)])] if self._is_text else [request, reply]
        return sum(map(self._count, parts))

    def row(self, cell: Cell) -> Replayed:
        """The prompt about the turn nearest to a cell's depth, and its truth."""
        talk = self._conversation
        number = talk.nearest(cell.depth or 0.0)
        item = self._item(cell, number)
        shown = item if cell.control is None else CONTROLS[cell.control](item)
        last = said(None if self._is_text else "user", self._last(shown.question or ""))
        if cell.control == NO_CONTEXT:
            return Replayed(shown, replace(WITHOUT_CONTEXT, turns=(last,)))
        turns, at = self._around(number, last)
        tokens, depths = talk.tokens - talk.turns[number].tokens, (talk.depth(number),)
        return Replayed(shown, Context(turns, talk.id, tokens, depths, talk.passes, needle_turn=at))

    def _item(self, cell: Cell, number: int) -> Item:
        """The item about a turn; if two depths fall on the same turn, their prefixes differ."""
        turns, like = self._conversation.turns, self._conversation.like(number)
        subject = self._subjects[turns[number].request]
        most, best = self._question_tokens, (-1, "")
        for prefix in chain(_prefixes(f"{self._seed}/{number}/{cell.depth!r}"), [self._sample]):
            tokens = self._count(self._last(self._question(prefix, like.index(number), subject)))
            if best[0] < tokens <= most:
                best = tokens, prefix
            if tokens == most:
                break
        prefix = best[1]
        reply, others = turns[number].reply, [turns[other].reply for other in like if other != number]
        beginning = _beginning(reply, others, cell.language)
        return Item(
            cell.draw, cell.language, self._question(prefix, like.index(number), subject), (prefix + reply,), (),
            "mrcr", (reply,), answer_prefix=prefix, decoys=tuple((other,) for other in others),
            literal=self._said["literal"].format(prefix=prefix, subject=subject, beginning=beginning),
            # Doubled because other tokenizers need more; the same for all rows of a conversation, so it is no hint.
            max_new_tokens=2 * max(turn.tokens for turn in turns),
        )  # fmt: skip

    def _around(self, number: int, last: PromptMessage) -> tuple[tuple[PromptMessage, ...], int]:
        """The messages of a prompt about a turn, and the number of the one that holds its reply."""
        turns, source = self._conversation.turns, self._source
        if self._is_text:
            end = len(self._text(turns[: number + 1]).removesuffix("\n\n"))
            start, whole = end - len(turns[number].reply), len(source.text)
            reply = PromptMessage(None, source, whole, (Edit(start, end, turns[number].reply),), ((start, end),))
            return (reply.between("", last.text),), 0
        at = 2 * number + 1
        messages = [said(*part) for turn in turns for part in (("user", turn.request), ("assistant", turn.reply))]
        messages[at] = said("assistant", turns[number].reply, [0], [turns[number].reply])
        return (*messages, last), at


def _prefixes(seed: str) -> Iterator[str]:
    draw = random.Random(f"{seed}/prefix")
    return ("".join(draw.choices(_LETTERS, k=_PREFIX_LENGTH)) for _ in range(_MOST_DRAWS))


def _beginning(reply: str, others: Sequence[str], language: str) -> str:
    """The shortest beginning, in whole words, that distinguishes a reply from others."""
    words, joiner, least = (list(reply), "", 10) if language == "zh" else (reply.split(" "), " ", 6)
    beginnings = (joiner.join(words[:count]) for count in range(min(least, len(words)), len(words) + 1))
    return next((one for one in beginnings if not any(other.startswith(one) for other in others)), reply)


def _speaker(bench: Workbench) -> Callable[[Cell], Replayed]:
    """Makes the prompts of one process; keeps the last conversation."""

    @cache
    def size(language: str, subject: str) -> int:
        said, sample = wording("coreference")[language]["question"], _LETTERS[:_PREFIX_LENGTH]
        return bench.tokenizer.count(said.format(prefix=sample, ordinal=ordinal(1, language), subject=subject))

    materials = {name: Material(corpus, bench.tokenizer) for name, corpus in bench.corpora.items()}

    @lru_cache(maxsize=1)
    def talk(cell: Cell) -> _Talk:
        return _Talk(bench, cell, materials[cell.corpus], partial(size, cell.language))

    def speak(cell: Cell) -> Replayed:
        depth = cell.depth if bench.fresh_haystacks else None
        return talk(cell._replace(depth=depth, control=None)).row(cell)

    return speak


COREFERENCE = Task(
    "coreference", 2, _ids, Replay(_speaker), CoreferenceOptions, FITTED_WHOLE,
    {name: CONTROLS[name] for name in ("literal", NO_CONTEXT)},
)  # fmt: skip
