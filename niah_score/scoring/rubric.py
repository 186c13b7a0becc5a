"""Reads rubrics: what a language model is asked when it judges an answer, and how its reply is read.

A rubric is a TOML file:

name = "facts"                     # letters, digits, _ and -
scale = {0 = 0, 1 = 30, 2 = 100}   # the allowed verdicts, numbers or words, and what each is worth; the best 100
pattern = 'Verdict: (\\d+)'         # how a reply is read: a regex with one group, "number", or a list tried in order
prompt = "... {question} ... {reference} ... {answer} ..."
system = ""                        # optional: a system message
text = "extracted"                 # optional: which answer is shown, extracted (reasoning removed) or raw
block = true                       # optional: whether the answer is put between marks that do not occur in it

docs/judge.md explains each field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from niah_score.contract import canonical_json, parse_toml, sha256_hex
from niah_score.errors import ScoreError, listed
from niah_score.formats.record import brief
from niah_score.metrics.keyword import pattern_fault

_FOLDER = Path(__file__).parent / "rubrics"
NUMBER = "number"
_REQUIRED = ("name", "scale", "prompt", "pattern")
_FIELDS = ("question", "reference", "references", "answer", "mark")
FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_DECIMAL = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?")
# Everything attached to a digit, so that 7/10, 70%, 1-7, B7 and 7½ are not read as the number 7.
NUMBER_LIKE = r"[A-Za-z\p{N}+\-−–.,/%~≈≤≥]*\p{N}[A-Za-z\p{N}+\-−–.,/%~≈≤≥]*"


@dataclass(frozen=True, slots=True)
class Rubric:
    """What a judge is asked and how its reply is read. `scale`: what each verdict is worth, 0 to 100.

    `patterns`: tried in order.
    """

    name: str
    scale: dict[str, float]
    patterns: tuple[str, ...]
    prompt: str
    system: str = ""
    text: Literal["raw", "extracted"] = "extracted"
    block: bool = True

    @property
    def digest8(self) -> str:
        """Tells two rubrics of the same name apart."""
        return sha256_hex(canonical_json(asdict(self)))[:8]


def find_rubric(spec: str) -> Rubric:
    """The rubric with one of our names, or in a .toml file. Raises ScoreError with all its problems."""
    ours = {file.stem: file for file in sorted(_FOLDER.glob("*.toml"))}
    if spec not in ours and not spec.endswith(".toml"):
        raise ScoreError(f"rubric {spec!r} is unknown; expected {' or '.join(ours)}, or the path of a .toml file")
    file = ours.get(spec, Path(spec))
    try:
        table = parse_toml(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ScoreError(f"{file}: no such file; expected a rubric (docs/judge.md)") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ScoreError(f"{file}: cannot be read as TOML: {error}") from None
    return parse_rubric(table, str(file))


def parse_rubric(table: dict[str, Any], where: str = "rubric") -> Rubric:
    """A rubric from its table. Raises ScoreError with everything that is wrong with it."""
    problems = list(_faults(table))
    if problems:
        raise ScoreError(listed(f"{where}: not a rubric that can be used", problems))
    more = {name: table[name] for name in ("system", "text", "block") if name in table}
    scale = {verdict: float(worth) for verdict, worth in table["scale"].items()}
    return Rubric(table["name"], scale, _patterns(table["pattern"]), table["prompt"], **more)


def is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def key_of(verdict: str) -> Decimal | str:
    """What all spellings of a verdict have in common: 7, 7.0 and 07 are the same, and so are yes and Yes."""
    verdict = verdict.strip()
    return Decimal(verdict) if _DECIMAL.fullmatch(verdict) else verdict.casefold()


def _patterns(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list) else (given,)


def _faults(table: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a rubric's fields."""
    yield from (f"{name}: missing" for name in _REQUIRED if name not in table)
    for name, value in table.items():
        if name not in _EXPECTED:
            yield f"{name}: unknown field; known: {', '.join(_EXPECTED)}"
            continue
        is_right, expected = _EXPECTED[name]
        if not is_right(value):
            yield f"{name}: expected {expected}, found {brief(value)}"
        elif name == "pattern":
            faults = ((pattern, _fault_of_pattern(pattern)) for pattern in _patterns(value))
            yield from (f"pattern: {brief(pattern)} {fault}" for pattern, fault in faults if fault)
            scale = table.get("scale")
            if NUMBER in _patterns(value) and _is_scale(scale) and not any(map(_is_number, scale)):  # type: ignore[arg-type]
                yield f"pattern: {NUMBER!r} reads no verdict of the scale, as none is a number; expected a regex"
        elif name == "prompt":
            yield from _faults_of_prompt(value)


def _is_scale(value: Any) -> bool:
    if not isinstance(value, dict) or len({key_of(verdict) for verdict in value} - {""}) < max(len(value), 2):
        return False
    worths = value.values()
    are_numbers = all(isinstance(worth, int | float) and not isinstance(worth, bool) for worth in worths)
    return are_numbers and all(0 <= worth <= 100 for worth in worths) and max(worths) == 100


def _is_number(verdict: str) -> bool:
    return isinstance(key_of(verdict), Decimal)


def _fault_of_pattern(pattern: str) -> str | None:
    import polars as pl

    if pattern == NUMBER:
        return None
    if (fault := pattern_fault(pattern)) is not None:
        return fault
    groups = pl.Series([""]).str.extract_groups(pattern).dtype
    count = len(groups.fields) if isinstance(groups, pl.Struct) else 0
    return None if count == 1 else f"has {count} groups; expected one (...), around the verdict"


def _faults_of_prompt(prompt: str) -> Iterator[str]:
    used = FIELD.findall(prompt)
    for name in dict.fromkeys(used):
        if name not in _FIELDS:
            yield f"prompt: {{{name}}} is unknown; known: {', '.join(f'{{{known}}}' for known in _FIELDS)}"
    if used.count("answer") != 1:
        yield f"prompt: expected {{answer}} once, found it {used.count('answer')} times"
    if not {"reference", "references"} & set(used):
        yield "prompt: expected {reference} or {references}, found neither"


# Whether the value of a field is right on its own, and what is expected of it.
_EXPECTED: dict[str, tuple[Callable[[Any], object], str]] = {
    "name": (lambda value: isinstance(value, str) and _NAME.fullmatch(value), "up to 40 letters, digits, _ or -"),
    "scale": (_is_scale, "a table of two or more different verdicts, each worth 0 to 100 and the best 100"),
    "prompt": (lambda value: is_text(value) and value.strip(), "a text"),
    "pattern": (
        lambda value: value != [] and all(is_text(one) and one for one in _patterns(value)),
        'a regex, "number", or a list of them',
    ),
    "system": (is_text, "a text"),
    "text": (lambda value: value in ("raw", "extracted"), "raw or extracted"),
    "block": (lambda value: isinstance(value, bool), "true or false"),
}
