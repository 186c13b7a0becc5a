"""Reads rubrics: what a language model is asked when it judges an answer, and how its reply is read.

A rubric is a TOML file:

name = "facts"                     # letters, digits, _ and -
scale = [0, 1, 2]                  # the allowed verdicts: all numbers, or all words
full = 2                           # the verdict worth 100
pattern = 'Verdict: (\\d+)'         # how a reply is read: a regex with one group, "number", or a list tried in order
prompt = "... {question} ... {reference} ... {answer} ..."
system = ""                        # optional: a system message
worth = {0 = 0, 1 = 30, 2 = 100}   # optional: what each verdict is worth; else verdict / full, words other than full 0
text = "extracted"                 # optional: which answer is shown, extracted (reasoning removed) or raw
block = true                       # optional: whether the answer is put between marks that do not occur in it
source = ""                        # optional: where the rubric comes from

docs/judge.md explains each field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from niah_score.contract import canonical_json, parse_toml, sha256_hex
from niah_score.errors import ScoreError, listed
from niah_score.formats.record import brief

_FOLDER = Path(__file__).parent / "rubrics"
NUMBER = "number"
_REQUIRED = ("name", "scale", "full", "prompt", "pattern")
_OPTIONAL = ("system", "worth", "text", "block", "source")
_FIELDS = ("question", "reference", "references", "answer", "mark")
FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_DECIMAL = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?")
# Everything attached to a digit, so that 7/10, 70%, 1-7, B7 and 7½ are not read as the number 7.
NUMBER_LIKE = r"[A-Za-z\p{N}+\-−–.,/%~≈≤≥]*\p{N}[A-Za-z\p{N}+\-−–.,/%~≈≤≥]*"


@dataclass(frozen=True, slots=True)
class Rubric:
    """What a judge is asked and how its reply is read. `scale`: the verdicts; `worths`: what each is worth, 0 to 100.

    `numbers`: whether verdicts are numbers, so that 7 and 7.0 are the same. `patterns`: tried in order.
    """

    name: str
    scale: tuple[str, ...]
    worths: tuple[float, ...]
    numbers: bool
    patterns: tuple[str, ...]
    prompt: str
    system: str = ""
    text: Literal["raw", "extracted"] = "extracted"
    block: bool = True
    source: str = ""

    @property
    def digest8(self) -> str:
        """Tells two rubrics of the same name apart; it covers all fields except `source`."""
        asked = {name: value for name, value in asdict(self).items() if name != "source"}
        return sha256_hex(canonical_json(asked))[:8]


@lru_cache(maxsize=1)
def rubrics() -> dict[str, Rubric]:
    """The rubrics that come with the package, by name."""
    return {file.stem: _from_file(file) for file in sorted(_FOLDER.glob("*.toml"))}


def find_rubric(spec: str) -> Rubric:
    """The rubric with one of our names, or in a .toml file. Raises ScoreError with all its problems."""
    if spec in rubrics():
        return rubrics()[spec]
    if not spec.endswith(".toml"):
        raise ScoreError(f"rubric {spec!r} is unknown; expected {' or '.join(rubrics())}, or the path of a .toml file")
    return _from_file(Path(spec))


def _from_file(file: Path) -> Rubric:
    try:
        table = parse_toml(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ScoreError(f"{file}: no such file; expected a rubric (docs/judge.md)") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ScoreError(f"{file}: cannot be read as TOML: {error}") from None
    return parse_rubric(table, str(file))


def parse_rubric(table: dict[str, Any], where: str = "rubric") -> Rubric:
    """A rubric from its table. Raises ScoreError with everything that is wrong with it."""
    problems = [f"{name}: missing" for name in _REQUIRED if name not in table]
    problems += [
        f"{name}: unknown field; known: {', '.join((*_REQUIRED, *_OPTIONAL))}"
        for name in table
        if name not in (*_REQUIRED, *_OPTIONAL)
    ]
    for name, value in table.items():
        is_right, expected = _EXPECTED.get(name, (None, ""))
        if is_right and not is_right(value):
            problems.append(f"{name}: expected {expected}, found {brief(value)}")
    given = table.get("pattern", ())
    patterns = tuple(given) if isinstance(given, list) else (given,)
    if "pattern" in table and _are_patterns(given):
        problems += [fault for pattern in patterns if pattern != NUMBER for fault in _faults_of_pattern(pattern)]
    if is_text(table.get("prompt")):
        problems += _faults_of_prompt(table["prompt"], table.get("block", True) is not False)
    scale: tuple[str, ...] = ()
    worths: tuple[float, ...] = ()
    numbers = True
    if "scale" in table and "full" in table:
        try:
            scale, worths, numbers = _verdicts(table["scale"], table["full"], table.get("worth"))
        except ValueError as error:
            problems.append(str(error))
    if not numbers and NUMBER in patterns:
        problems.append('pattern: "number" reads numbers, but the scale has words')
    if problems:
        raise ScoreError(listed(f"{where}: not a rubric that can be used", problems))
    more = {name: table[name] for name in ("system", "text", "block", "source") if name in table}
    return Rubric(table["name"], scale, worths, numbers, patterns, table["prompt"], **more)


def is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and _decimal(str(value)) is not None


def _decimal(text: str) -> Decimal | None:
    """A text as a number; None if it is none, has an exponent or is absurdly long."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def key_of(verdict: str, numbers: bool) -> Decimal | str | None:
    """What all spellings of a verdict have in common; None if verdicts are numbers and this is none."""
    return _decimal(verdict.strip()) if numbers else verdict.strip().casefold()


def _verdicts(items: Any, full: Any, worth: Any) -> tuple[tuple[str, ...], tuple[float, ...], bool]:
    """The scale as texts, what each verdict is worth, 0 to 100, and whether they are numbers.

    Raises ValueError with what is wrong with one of the fields.
    """
    numbers = isinstance(items, list) and all(map(_is_number, items))
    words = isinstance(items, list) and all(is_text(item) and item.strip() == item != "" for item in items)
    if not items or not (numbers or words):
        raise ValueError(f"scale: expected a list of numbers or a list of words, found {brief(items)}")
    scale = tuple(map(str, items))
    keys = [key_of(verdict, numbers) for verdict in scale]
    if len(set(keys)) < max(len(keys), 2):
        raise ValueError(f"scale: expected at least two different verdicts, none twice, found {brief(items)}")
    if _is_number(full) != numbers or key_of(str(full), numbers) not in keys:
        raise ValueError(f"full: expected a verdict of the scale, found {brief(full)}")
    best = keys.index(key_of(str(full), numbers))
    if worth is not None:
        if not isinstance(worth, dict) or set(worth) != set(scale):
            raise ValueError(
                f"worth: expected a table of every verdict of the scale and no other, found {brief(worth)}"
            )
        if not all(_is_number(value) and 0 <= value <= 100 for value in worth.values()) or worth[scale[best]] != 100:
            raise ValueError(f"worth: expected numbers from 0 to 100, and 100 for {scale[best]}, found {brief(worth)}")
        return scale, tuple(float(worth[verdict]) for verdict in scale), numbers
    if not numbers:
        return scale, tuple(100.0 * (place == best) for place in range(len(scale))), numbers
    values = list(map(Decimal, scale))
    if min(values) < 0 or max(values) != values[best] or not values[best]:
        raise ValueError("scale: without `worth`, numbers must run from 0 or more up to `full`")
    return scale, tuple(float(100 * value / values[best]) for value in values), numbers


def _are_patterns(given: Any) -> bool:
    items = given if isinstance(given, list) else [given]
    return bool(items) and all(is_text(item) and item for item in items)


def _faults_of_pattern(pattern: str) -> list[str]:
    import polars as pl

    nothing = pl.DataFrame({"text": [""]})
    try:
        groups = nothing.select(pl.col("text").str.extract_groups(pattern)).schema["text"]
        empty = nothing["text"].str.contains(pattern)[0]
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[-1].removeprefix("error: ")
        return [f"pattern: {brief(pattern)} is not a regex that runs in linear time (Rust's syntax): {reason}"]
    fields = len(groups.fields) if isinstance(groups, pl.Struct) else 0
    problems = []
    if fields != 1:
        problems.append(f"pattern: {brief(pattern)} has {fields} groups; expected one (...), around the verdict")
    if empty:
        problems.append(f"pattern: {brief(pattern)} matches an empty reply; expected one that matches only verdicts")
    return problems


def _faults_of_prompt(prompt: str, block: bool) -> list[str]:
    used = FIELD.findall(prompt)
    problems = [
        f"prompt: {{{name}}} is unknown; known: {', '.join(f'{{{known}}}' for known in _FIELDS)}"
        for name in dict.fromkeys(used)
        if name not in _FIELDS
    ]
    if used.count("answer") != 1:
        problems.append(f"prompt: expected {{answer}} once, found it {used.count('answer')} times")
    if not {"reference", "references"} & set(used):
        problems.append("prompt: expected {reference} or {references}, found neither")
    if "mark" in used and not block:
        problems.append("prompt: {mark} is the mark of the block around the answer, but `block` is false")
    return problems


# Whether the value of a field is right on its own, and what is expected of it.
_EXPECTED: dict[str, tuple[Callable[[Any], object], str]] = {
    "name": (lambda value: isinstance(value, str) and _NAME.fullmatch(value), "up to 40 letters, digits, _ or -"),
    "prompt": (lambda value: is_text(value) and value.strip(), "a text"),
    "pattern": (_are_patterns, 'a regex, "number", or a list of them'),
    "system": (is_text, "a text"),
    "source": (is_text, "a text"),
    "text": (lambda value: value in ("raw", "extracted"), "raw or extracted"),
    "block": (lambda value: isinstance(value, bool), "true or false"),
}
