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
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from niah_gen.haystacks.boundaries import joiner_of
from niah_gen.haystacks.conversation import Conversation, Material, fill_conversation, most_requests
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import CONTROLS, LANGUAGES, NO_CONTEXT, Replay, Task
from niah_gen.tasks.hiding import FITTED_WHOLE
from niah_gen.tasks.numerals import ordinal
from niah_gen.tasks.records import WITHOUT_CONTEXT, Cell, Context, Item, Replayed, Settings, Workbench, cell_seed
from niah_gen.tasks.words import wording
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Encoded, Slice, encode

# DeepMind's grader takes twelve characters as the prefix; with as many here, `mrcr_v2` can judge the rows too.
_PREFIX_LENGTH = 12
_LETTERS = string.ascii_letters + string.digits
# How many prefixes are tried at most to give every question the same number of tokens.
_MOST_DRAWS = 5_000
_SAMPLES, _SHORT_SAMPLE = 40, 3
_MOST_LIKE = 20
# Questions about the subjects of a conversation differ by fewer tokens than this, if there are enough such subjects.
_NEAR = 2
_UNSURE = 2  # tokens kept free for a tokenizer whose counts of parts do not add up


class TalkWording(NamedTuple):
    """The wording of a language. `user`, `assistant`: name the speakers in a prompt that is one text."""

    request: str
    question: str
    literal: str
    user: str
    assistant: str
    subject: str


WORDINGS = {
    "en": TalkWording(
        "Write a short passage about {subject}.",
        "Prepend {prefix} to the {ordinal} passage about {subject} that you wrote above, and repeat that passage word "
        "for word. Do not include any other text in your response.",
        "Prepend {prefix} to the passage about {subject} that begins with “{beginning}”, and repeat that passage word "
        "for word. Do not include any other text in your response.",
        "User: ",
        "Assistant:",
        "{first} {second}",
    ),
    "zh": TalkWording(
        "请写一段关于{subject}的短文。",
        "请先输出{prefix}，再紧接着一字不差地重复你在上文中写的第{ordinal}段关于{subject}的短文。不要输出任何其他内容。",
        "请先输出{prefix}，再紧接着一字不差地重复你在上文中写的、以“{beginning}”开头的那段关于{subject}的短文。"
        "不要输出任何其他内容。",
        "用户：",
        "助手：",
        "{first}的{second}",
    ),
}


@dataclass(frozen=True, slots=True)
class CoreferenceOptions:
    """The recipe's [options]. `like`: how many like requests, an item for each number.

    `reply_tokens`: about how many tokens a reply has; fewer if a length would not hold all like requests otherwise.
    """

    like: tuple[int, ...] = (2, 4, 8)
    reply_tokens: int = 120

    def __post_init__(self) -> None:
        if not self.like or len(set(self.like)) < len(self.like):
            raise ValueError(f"like is {list(self.like)}; expected different numbers, at least one")
        for number in self.like:
            if not 2 <= number <= _MOST_LIKE:
                raise ValueError(f"like holds {number}; expected 2 to {_MOST_LIKE}")
        if not 20 <= self.reply_tokens <= 2_000:
            raise ValueError(f"reply_tokens is {self.reply_tokens}; expected 20 to 2000")


@lru_cache(maxsize=4)
def subject_words(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The two lists of words that subjects are made of, one word from each."""
    return tuple(wording("coreference")[language]["first"]), tuple(wording("coreference")[language]["second"])


def subjects(language: str, count: int, seed: str, sizes: Callable[[str], int]) -> list[str]:
    """Draws `count` subjects, or all if there are fewer, from as few words as possible, so that many share a word.

    `sizes`: returns the tokens of a question about a subject. They are nearly equal, if there are enough such subjects.
    """
    first, second = (list(words) for words in subject_words(language))
    draw = random.Random(f"{seed}/subjects")
    draw.shuffle(first)
    draw.shuffle(second)
    places = sorted(((n, m) for n in range(len(first)) for m in range(len(second))), key=lambda at: (max(at), at))
    made = [WORDINGS[language].subject.format(first=first[n], second=second[m]) for n, m in places]
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
    return [f"{number}-like" for number in settings.options.like if language in LANGUAGES]


class _Form(NamedTuple):
    """Writes and counts the turns and the last message of prompts in one form and language."""

    language: str
    is_text: bool
    tokenizer: Tokenizer

    @property
    def wording(self) -> TalkWording:
        """The wording of the language."""
        return WORDINGS[self.language]

    def turn(self, request: str, reply: str) -> str:
        """A turn of a prompt that is one text."""
        return f"{self.wording.user}{request}\n\n{self.wording.assistant}{joiner_of(self.language)}{reply}\n\n"

    def last(self, question: str) -> str:
        """The last message: the question; in a text also the name of the speaker who answers."""
        return f"{self.wording.user}{question}\n\n{self.wording.assistant}" if self.is_text else question

    def turn_tokens(self, request: str, reply: str) -> int:
        """Tokens of a turn, encoded alone."""
        if self.is_text:
            return self.tokenizer.count(self.turn(request, reply))
        return self.tokenizer.count(request) + self.tokenizer.count(reply)


class _Talk(NamedTuple):
    """The conversation that consecutive cells share, and its turns as messages.

    `subjects`: by request. `question_tokens`: of the last message in every row; with the prefix `sample` no question
    has more.
    """

    key: tuple[object, ...]
    seed: str
    form: _Form
    conversation: Conversation
    subjects: dict[str, str]
    sample: str
    question_tokens: int
    messages: tuple[PromptMessage, ...]
    text: Encoded


class _Speaker:
    """Makes the prompts of one process."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._materials: dict[str, Material] = {}
        self._known: dict[str, dict[str, int]] = {}
        self._talk: _Talk | None = None

    def __call__(self, cell: Cell) -> Replayed:
        """The prompt of a cell. Raises FitError if its length cannot hold it."""
        talk = self._talk_of(cell)
        conversation, number = talk.conversation, talk.conversation.nearest(cell.depth or 0.0)
        item = _item(cell, talk, number)
        shown = item if cell.control is None else CONTROLS[cell.control](item)
        last = PromptMessage(None if talk.form.is_text else "user", (Piece(talk.form.last(shown.question or "")),))
        if cell.control == NO_CONTEXT:
            return Replayed(shown, replace(WITHOUT_CONTEXT, turns=(last,)))
        turns, at = _text_around(talk, number, last) if talk.form.is_text else _chat_around(talk, number, last)
        return Replayed(
            shown,
            Context(
                turns,
                conversation.id,
                conversation.tokens - conversation.turns[number].tokens,
                (conversation.depth(number),),
                conversation.passes,
                needle_turn=at,
            ),
        )

    def _talk_of(self, cell: Cell) -> _Talk:
        fresh = cell.depth if self._bench.fresh_haystacks else None
        key = (cell.corpus, cell.language, cell.length, cell.needle, cell.repeat, fresh)
        if self._talk is None or self._talk.key != key:
            self._talk = self._new_talk(cell, key)
        return self._talk

    def _sizes(self, form: _Form) -> Callable[[str], int]:
        """Returns a function that counts the tokens of a question about a subject, once."""
        known = self._known.setdefault(form.language, {})

        def size(subject: str) -> int:
            if subject not in known:
                question = form.wording.question.format(
                    prefix=_LETTERS[:_PREFIX_LENGTH], ordinal=ordinal(1, form.language), subject=subject
                )
                known[subject] = form.tokenizer.count(question)
            return known[subject]

        return size

    def _new_talk(self, cell: Cell, key: tuple[object, ...]) -> _Talk:
        bench, options = self._bench, self._bench.options
        tokenizer = bench.tokenizer
        seed = f"{cell_seed(bench.seed, cell)}/coreference"
        if bench.fresh_haystacks:
            seed += f"/{cell.depth!r}"
        form = _Form(cell.language, bench.form == "text", tokenizer)
        like = int(cell.needle.partition("-")[0])
        room = cell.length - bench.reserve - (0 if tokenizer.local else _UNSURE)
        named = subjects(cell.language, most_requests(like, options.reply_tokens, room), seed, self._sizes(form))
        subject_of = {form.wording.request.format(subject=subject): subject for subject in named}
        # Sized with a short prefix in the longest question: longer prefixes will compensate for shorter subjects.
        sample = sorted(islice(_prefixes(seed), _SAMPLES), key=tokenizer.count)[_SHORT_SAMPLE]
        questions = [
            form.wording.question.format(prefix=sample, ordinal=ordinal(number, cell.language), subject=subject)
            for subject in named
            for number in range(1, like + 1)
        ]
        longest = max(questions, key=lambda question: tokenizer.count(form.last(question)))
        question_tokens = tokenizer.count(form.last(longest))
        if cell.corpus not in self._materials:
            self._materials[cell.corpus] = Material(bench.corpora[cell.corpus], tokenizer)
        conversation = fill_conversation(
            self._materials[cell.corpus], list(subject_of), like, options.reply_tokens, room - question_tokens, seed,
            form.turn_tokens,
        )  # fmt: skip
        messages, text = _written(form, conversation)
        return _Talk(key, seed, form, conversation, subject_of, sample, question_tokens, messages, text)


def _written(form: _Form, conversation: Conversation) -> tuple[tuple[PromptMessage, ...], Encoded]:
    """The turns of a conversation as messages, or as one text; the other is empty."""
    turns = conversation.turns
    if form.is_text:
        return (), encode("".join(form.turn(turn.request, turn.reply) for turn in turns), form.tokenizer)
    said = (pair for turn in turns for pair in (("user", turn.request), ("assistant", turn.reply)))
    return tuple(PromptMessage(role, (Piece(text),)) for role, text in said), encode("", form.tokenizer)


def _item(cell: Cell, talk: _Talk, number: int) -> Item:
    """The item about a turn at a depth; if two depths fall on the same turn, their prefixes differ."""
    form, turns = talk.form, talk.conversation.turns
    like = talk.conversation.like(number)
    said = {"subject": talk.subjects[turns[number].request], "ordinal": ordinal(like.index(number) + 1, cell.language)}
    asked = _Prefix("", -1)
    for prefix in chain(_prefixes(f"{talk.seed}/{number}/{cell.depth!r}"), [talk.sample]):
        tokens = form.tokenizer.count(form.last(form.wording.question.format(prefix=prefix, **said)))
        if asked.tokens < tokens <= talk.question_tokens:
            asked = _Prefix(prefix, tokens)
        if asked.tokens == talk.question_tokens:
            break
    reply, others = turns[number].reply, [turns[other].reply for other in like if other != number]
    said |= {"prefix": asked.text, "beginning": _beginning(reply, others, cell.language)}
    return Item(
        cell.draw, cell.language, form.wording.question.format(**said), (asked.text + reply,), (), "mrcr", (reply,),
        answer_prefix=asked.text, decoys=tuple((other,) for other in others),
        literal=form.wording.literal.format(**said),
        # Doubled because other tokenizers need more; the same for all rows of a conversation, so that it gives no hint.
        max_new_tokens=2 * max(turn.tokens for turn in turns),
    )  # fmt: skip


class _Prefix(NamedTuple):
    """A prefix, and the tokens of the last message with it."""

    text: str
    tokens: int


def _prefixes(seed: str) -> Iterator[str]:
    draw = random.Random(f"{seed}/prefix")
    return ("".join(draw.choices(_LETTERS, k=_PREFIX_LENGTH)) for _ in range(_MOST_DRAWS))


def _beginning(reply: str, others: Sequence[str], language: str) -> str:
    """The shortest beginning, in whole words, that distinguishes a reply from others."""
    words, joiner = (list(reply), "") if language == "zh" else (reply.split(" "), " ")
    least = 10 if language == "zh" else 6
    beginnings = (joiner.join(words[:count]) for count in range(min(least, len(words)), len(words) + 1))
    return next((one for one in beginnings if not any(other.startswith(one) for other in others)), reply)


def _chat_around(talk: _Talk, number: int, last: PromptMessage) -> tuple[tuple[PromptMessage, ...], int]:
    """The messages of a prompt about a turn, and the number of the one that holds its reply."""
    at = 2 * number + 1
    needle = PromptMessage("assistant", (Piece(talk.conversation.turns[number].reply, 0),))
    return (*talk.messages[:at], needle, *talk.messages[at + 1 :], last), at


def _text_around(talk: _Talk, number: int, last: PromptMessage) -> tuple[tuple[PromptMessage, ...], int]:
    """As `_chat_around`, for a prompt that is one text."""
    turns, form = talk.conversation.turns, talk.form
    end = sum(len(form.turn(turn.request, turn.reply).encode()) for turn in turns[: number + 1]) - len("\n\n")
    start = end - len(turns[number].reply.encode())
    pieces = (
        Piece(Slice(talk.text, 0, start)),
        Piece(Slice(talk.text, start, end), 0),
        Piece(Slice(talk.text, end, len(talk.text.data))),
        *last.pieces,
    )
    return (PromptMessage(None, pieces),), 0


COREFERENCE = Task(
    "coreference", 2, _ids, Replay(_Speaker), CoreferenceOptions,
    controls={name: CONTROLS[name] for name in ("literal", NO_CONTEXT)},
    context=FITTED_WHOLE,
)  # fmt: skip
