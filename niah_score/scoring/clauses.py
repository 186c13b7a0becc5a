"""Splits answers into clauses and tells by their phrases whether each denies, refuses, doubts, guesses or claims."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from niah_score.scoring import phrases_en, phrases_zh

if TYPE_CHECKING:
    import polars as pl

_LANGUAGES = (phrases_en, phrases_zh)
# Marks the end of a clause, and stands for a quotation; both are removed from texts first.
_END, _QUOTED = "\x01", "\x02"


def _joined(patterns: Sequence[str]) -> str:
    r"""One pattern for any of several, for Rust's engine, whose own \b knows the letters of all scripts and is slow."""
    return "|".join(patterns).replace(r"\b", r"(?-u:\b)")


# polars keeps the last 32 patterns compiled. With more, every search compiles its pattern again, which takes longer
# than searching a thousand texts. So all phrases of a kind are one pattern, of both languages if that stays fast.
_HINTS = [*(_joined([hint]) for of in _LANGUAGES for hint in of.HINTS), _joined([of.ALONE for of in _LANGUAGES])]
_TELLS_NOT = [f"({_joined(of.TELLS_NOT)})(.{{0,24}})" for of in _LANGUAGES]
_MAY_TELL_NOT = _joined([pattern for of in _LANGUAGES for pattern in of.MAY_TELL_NOT])
_REFUSES = [_joined(of.REFUSES) for of in _LANGUAGES]
_SETS_ASIDE = _joined([pattern for of in _LANGUAGES for pattern in of.SETS_ASIDE])
_UNSURE = f"(?:{_joined([pattern for of in _LANGUAGES for pattern in of.UNSURE])})(.{{0,24}})"
_BREAKS = _joined([pattern for of in _LANGUAGES for pattern in (of.CONTRAST, *of.BREAKS)])
_SENTENCE_END = "[!?;。]+|\\.(?:[\\s\"”')\\]]|$)"
_CONCEDES = f"((?:^|{_END})[^0-9a-z一-龥]*(?:{'|'.join(of.CONCEDES for of in _LANGUAGES)})[^,{_END}]*),"
# A quoted sentence; a quoted word or two is the answer itself.
_QUOTATION = '["“「『][^"“”「」『』]{20,500}["”」』]'


def _compiled(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_MAY_TELL = _compiled([pattern for of in _LANGUAGES for pattern in of.MAY_TELL_NOT])
_SAYER = _compiled([of.SAYER for of in _LANGUAGES])
_SOURCE = _compiled([of.SOURCE for of in _LANGUAGES])
_OF_MORE = _compiled([of.OF_MORE for of in _LANGUAGES])
_OTHER_MATTER = _compiled([of.OTHER_MATTER for of in _LANGUAGES])
_OF_QUESTION = _compiled([of.OF_QUESTION for of in _LANGUAGES])
_GUESSES = _compiled([of.GUESSES for of in _LANGUAGES])
_OF_TALK = _compiled([of.OF_TALK for of in _LANGUAGES])
_CLAIMS = _compiled([of.CLAIMS for of in _LANGUAGES])
_CONCLUDES = _compiled([of.CONCLUDES for of in _LANGUAGES])
_CONTRASTS = _compiled([of.CONTRAST for of in _LANGUAGES])
_ALONE = _compiled([of.ALONE for of in _LANGUAGES])


class Clause(NamedTuple):
    """A clause of a folded answer. `text`: its words; `own`: the same without quotations, which are not its own claim.

    `denies`: says that the text does not tell, or that it is unknown; `is_other`: but about something else, such as
    why. `refuses`: declines to answer. `sets_aside`: dismisses what is quoted. `is_unsure`: says that it is not sure.
    """

    text: str
    own: str
    denies: bool = False
    is_other: bool = False
    refuses: bool = False
    sets_aside: bool = False
    is_unsure: bool = False

    @property
    def of_question(self) -> bool:
        """Whether it is about the question itself, or its answer."""
        return _OF_QUESTION.search(self.own) is not None

    @property
    def guesses(self) -> bool:
        """Whether it holds a word such as "perhaps"."""
        return _GUESSES.search(self.own) is not None

    @property
    def contrasts(self) -> bool:
        """Whether it begins with "but" or the like."""
        match = _CONTRASTS.search(self.own)
        return match is not None and not self.own[: match.start()].strip(' ,;:-—*"“”')

    @property
    def concludes(self) -> bool:
        """Whether it begins with "so", "I think" or the like."""
        return _CONCLUDES.match(self.own) is not None

    @property
    def claims(self) -> bool:
        """Whether it may be an answer: no denial, not about the text or the conversation, and more than a word."""
        return (
            not (self.denies or self.refuses or self.sets_aside or self.is_unsure)
            and _CLAIMS.search(self.own) is not None
            and _OF_TALK.search(self.own) is None
        )


def with_hints(folded: pl.Series) -> list[int]:
    """The indices of the texts that may deny, refuse or doubt anything; in the others no clause does."""
    import polars as pl

    hinted = pl.repeat(False, len(folded), eager=True)
    for pattern in _HINTS:
        hinted |= folded.str.contains(pattern)
    places: list[int] = hinted.arg_true().to_list()
    return places


def is_denial_alone(folded: str) -> bool:
    """Whether a folded text is nothing but a word such as "none", "not found" or 未提及."""
    return _ALONE.search(folded) is not None


def read_clauses(folded: pl.Series) -> list[list[Clause]]:
    """The clauses of each folded text; an empty list if no clause denies, refuses, sets aside or doubts."""
    import polars as pl

    texts = folded.str.replace_all(f"[{_END}{_QUOTED}]", " ")
    split = (
        texts.str.replace_all(_QUOTATION, _QUOTED)
        .str.replace_all(_SENTENCE_END, f"${{0}}{_END}")
        .str.replace_all(_BREAKS, f"{_END}${{0}}")
        .str.replace_all(_CONCEDES, f"${{1}},{_END}")
        .str.split(_END)
    )
    # The clauses of all texts in one column.
    own = split.explode()
    ends = split.list.len().cum_sum().to_list()
    denials = [own.str.extract_groups(pattern).struct.unnest().to_dict(as_series=True) for pattern in _TELLS_NOT]
    hints = pl.DataFrame(
        {
            "own": own,
            "denial": denials[0]["1"].fill_null(denials[1]["1"]),
            "after": denials[0]["2"].fill_null(denials[1]["2"]),
            "may_tell": own.str.contains(_MAY_TELL_NOT),
            "refuses": own.str.contains(_REFUSES[0]) | own.str.contains(_REFUSES[1]),
            "sets_aside": own.str.contains(_SETS_ASIDE),
            "unsure": own.str.extract(_UNSURE, 1),
        }
    )
    hinted = hints.with_row_index().filter(
        pl.col("denial").is_not_null()
        | pl.col("unsure").is_not_null()
        | pl.any_horizontal("may_tell", "refuses", "sets_aside")
    )
    acting = (bisect_right(ends, place) for place, *hint in hinted.iter_rows() if _acts(_clause(*hint)))
    clauses: list[list[Clause]] = [[] for _ in ends]
    for number in dict.fromkeys(acting):
        start = ends[number - 1] if number else 0
        quotations = iter(re.findall(_QUOTATION, texts[number]))
        of_text = [_clause(*hint) for hint in hints[start : ends[number]].iter_rows()]
        clauses[number] = [_quoting(clause, quotations) for clause in of_text if clause.own.strip(" ,")]
    return clauses


def _clause(
    own: str, denial: str | None, after: str, may_tell: bool, refuses: bool, sets_aside: bool, unsure: str | None
) -> Clause:
    """Make a clause. `after`: what follows its denial; `unsure`: what follows its doubt."""
    if denial is None and (refuses or may_tell):
        denial, after = _denied(own, refuses)
    if _OF_MORE.search(own):
        refuses = False
    return Clause(
        own,
        own,
        denies=denial is not None,
        is_other=denial is not None and bool(_OF_MORE.search(denial) or _OTHER_MATTER.match(after)),
        refuses=refuses,
        sets_aside=sets_aside,
        is_unsure=unsure is not None and not _OTHER_MATTER.match(unsure),
    )


def _acts(clause: Clause) -> bool:
    return clause.denies or clause.refuses or clause.sets_aside or clause.is_unsure


def _quoting(clause: Clause, quotations: Iterator[str]) -> Clause:
    """A clause with its quotations, the next ones of its answer, put back into its text."""
    first, *rest = clause.own.split(_QUOTED)
    whole = first + "".join(next(quotations, "") + piece for piece in rest)
    return clause._replace(text=whole, own=" ".join((first, *rest))) if rest else clause


def _denied(clause: str, refuses: bool) -> tuple[str | None, str]:
    """A denial in words that stories use too, or in words of refusal, and what follows it; None if there is none."""
    is_sourced = _SOURCE.search(clause) is not None
    if refuses:
        return ("", "") if is_sourced else (None, "")
    for match in _MAY_TELL.finditer(clause):
        if is_sourced or _SAYER.search(clause[max(0, match.start() - 60) : match.start()]):
            return match[0], clause[match.end() : match.end() + 24]
    return None, ""
