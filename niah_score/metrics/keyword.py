"""Scores the share of a row's facts that the answer states, by keyword groups or by regular expressions."""

from __future__ import annotations

from collections.abc import Sequence

from niah_score.errors import ScoreError
from niah_score.metrics.base import Metric, Score
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target
from niah_score.text import first_standing, fold, holds_group
from niah_score.text.fold import without_accents

_SHOWN = 80  # characters of a pattern in a message


def judge_keyword(answer: str, target: Target) -> Score:
    """Share of the keyword groups whose fact the answer states, in one of its spellings or as its value.

    `niah_score.text.voiding` defines what voids a find, such as a negation or a wrong unit.

    Parts: `found` and `groups` are the numbers of groups; `needles`, in rows with several needles, tells for each
    whether its facts were found (None for a needle without keywords). None without keywords.
    """
    folded = fold(answer)
    found = tuple(first_standing(folded, group) is not None for group in target.groups)
    return _share(found, _owned_groups(target))


def judge_keyword_all(answer: str, target: Target) -> Score:
    """100 if the answer states the facts of all keyword groups, else 0. None without keywords."""
    value = judge_keyword(answer, target).value
    return Score(None if value is None else 100.0 * (value == 100))


def judge_keyword_regex(answer: str, target: Target) -> Score:
    """As `keyword`, with each keyword a regular expression to search for in the folded text, ignoring case.

    Takes linear time for any pattern, as Rust's engine has no look-around and no backreferences. Raises ScoreError for
    an invalid pattern, or one that matches an empty answer.
    """
    needles = [fold(needle) for needle in target.needles]
    *of_needles, found = _matched_groups([*needles, fold(answer)], target)
    return _share(found, [_places(groups) for groups in of_needles])


def _many_keyword(chunk: Chunk) -> ScoreColumns:
    found = [tuple([hit is not None for hit in hits]) for hits in chunk.hits]
    return _shares(found, chunk.once(_owned_groups))


def _many_keyword_all(chunk: Chunk) -> ScoreColumns:
    shares = chunk.shared(_many_keyword).values
    return ScoreColumns([None if share is None else 100.0 * (share == 100) for share in shares], {})


def _many_keyword_regex(chunk: Chunk) -> ScoreColumns:
    places: dict[int, list[int]] = {}
    for place, target in enumerate(chunk.targets):
        places.setdefault(id(target), []).append(place)
    found: list[tuple[bool, ...]] = [()] * len(chunk.targets)
    owned: list[Sequence[tuple[int, ...]]] = [()] * len(chunk.targets)
    for own in places.values():
        target = chunk.targets[own[0]]
        needles = [fold(needle) for needle in target.needles]
        # Needles and answers are searched together.
        matched = _matched_groups(needles + [chunk.folded[place] for place in own], target)
        of_needles = [_places(groups) for groups in matched[: len(needles)]]
        for place, groups in zip(own, matched[len(needles) :], strict=True):
            found[place] = groups
            owned[place] = of_needles
    return _shares(found, owned)


def _owned_groups(target: Target) -> list[tuple[int, ...]]:
    """For each needle, the keyword groups that its text holds; in a chain, only the last link holds any."""
    texts = [fold(needle) for needle in target.needles]
    kinds = target.keyword_kinds or (None,) * len(target.keywords)
    return [
        _places([holds_group(text, *fact, target.rules) for fact in zip(target.keywords, kinds, strict=True)])
        for text in texts
    ]


def _places(groups: Sequence[bool]) -> tuple[int, ...]:
    return tuple(place for place, is_held in enumerate(groups) if is_held)


def _share(found: tuple[bool, ...], owned: Sequence[tuple[int, ...]]) -> Score:
    """The score of an answer by the groups found in it and those that each needle owns."""
    each = [all(found[place] for place in own) if own else None for own in owned]
    needles = each if len(each) > 1 else None
    if not found:
        return Score(None, {"found": None, "groups": None, "needles": needles})
    count = sum(found)
    return Score(100 * count / len(found), {"found": count, "groups": len(found), "needles": needles})


def _shares(found: Sequence[tuple[bool, ...]], owned: Sequence[Sequence[tuple[int, ...]]]) -> ScoreColumns:
    # Few rows differ in their hits, so scores are cached.
    known: dict[
        tuple[tuple[bool, ...], int], tuple[float | None, int | None, int | None, list[bool | None] | None]
    ] = {}
    shares = []
    for groups, own in zip(found, owned, strict=True):
        key = (groups, id(own))
        if key not in known:
            value, parts = _share(groups, own)
            known[key] = (value, parts["found"], parts["groups"], parts["needles"])
        shares.append(known[key])
    values, counts, groups_of, needles = map(list, zip(*shares, strict=True)) if shares else ([], [], [], [])
    return ScoreColumns(values, {"found": counts, "groups": groups_of, "needles": needles})


def _matched_groups(folded: list[str], target: Target) -> list[tuple[bool, ...]]:
    """For each text, which of the keyword groups match it."""
    groups = [_matches(folded, patterns) for patterns in target.keywords]
    return [tuple(hits[place] for hits in groups) for place in range(len(folded))]


def _matches(folded: list[str], patterns: Sequence[str]) -> list[bool]:
    """Which texts any of the patterns matches."""
    import polars as pl

    series = pl.Series("", ["", *folded], pl.String)
    matched = pl.repeat(False, len(series), eager=True)
    for pattern in patterns:
        try:
            hits = series.str.contains(f"(?i){without_accents(pattern)}")
        except pl.exceptions.PolarsError as error:
            # After an empty line, polars adds where the pattern was used.
            reason = str(error).split("\n\n")[0].splitlines()[-1].removeprefix("regex ").removeprefix("error: ")
            raise ScoreError(
                f"keyword_regex: {_brief(pattern)} is not a regex that Rust's linear-time engine accepts: {reason}"
            ) from None
        if hits[0]:
            raise ScoreError(
                f"keyword_regex: {_brief(pattern)} matches an empty answer; expected a pattern that needs some text"
            )
        matched |= hits
    return matched.to_list()[1:]


def _brief(pattern: str) -> str:
    return repr(pattern) if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]!r}..."


KEYWORD = Metric(
    "keyword",
    "strict",
    judge_keyword,
    parts={"found": int, "groups": int, "needles": list[bool]},
    default=True,
    many=_many_keyword,
)
KEYWORD_ALL = Metric("keyword_all", "strict", judge_keyword_all, many=_many_keyword_all)
KEYWORD_REGEX = Metric("keyword_regex", "strict", judge_keyword_regex, parts=KEYWORD.parts, many=_many_keyword_regex)
