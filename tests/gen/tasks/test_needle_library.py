"""The needles of the package: they state what their values come to, and hard answers to them are judged rightly."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from each import each

from niah_gen.tasks import needle_library as module
from niah_gen.tasks.needle_library import Needle, needle_files, needle_library
from niah_gen.tasks.own_needles import parse_needle
from niah_score.metrics import METRICS, Target

# Hard-to-judge answers to our needles, sorted by a careful reader's verdict.
HARD: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name("hard_cases.toml").read_text("utf-8"))
OURS = [needle for needle in needle_library().values() if needle.id in HARD]


def test_every_needle_states_what_its_values_come_to() -> None:
    differ = []
    for file in sorted(Path(module.__file__).parents[1].joinpath("library", "needles").iterdir()):
        for name, table in tomllib.loads(file.read_text("utf-8")).items():
            given = {field: value for field, value in table.items() if field not in ("keyword_kinds", "rejects")}
            made, problems = parse_needle({**given, "id": name, "keywords": table.get("stated", table["keywords"])})
            differ += [name] if problems or made != needle_library()[name] else []
            # As a resolved recipe records it.
            differ += [name] if parse_needle(needle_library()[name].table()) != (needle_library()[name], []) else []
    assert differ == []


@pytest.mark.slow
def test_rows_of_the_default_are_made_without_reading_values() -> None:
    code = (
        "import sys, niah_gen\n"
        "next(niah_gen.iter_rows('default', overrides={'lengths': [2000], 'languages': ['en']}))\n"
        "print([one for one in ('values', 'own_needles') if f'niah_gen.tasks.{one}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Hard answers ---------------------------------------------------------------------------------------------------------


def is_right(needle: Needle, answer: str) -> bool:
    """Whether an answer is right by the needle's own metric, keywords and rejects."""
    target = Target(
        needle.answers, needle.keywords, needle.needles, None, needle.language, needle.keyword_kinds, needle.rejects
    )
    return METRICS[needle.metric].judge(answer, target).value == 100


def test_each_of_our_needles_has_hard_answers_that_are_right_and_wrong() -> None:
    ours = {needle.id for name, members in needle_files().items() if name[-3:] in ("-en", "-zh") for needle in members}
    assert HARD.keys() == ours
    assert all({"right", "wrong"} == cases.keys() and min(map(len, cases.values())) >= 2 for cases in HARD.values())


@each("name", HARD)
def test_hard_answers_are_judged_as_a_careful_reader_judges_them(name: str) -> None:
    needle = needle_library()[name]
    assert [answer for answer in HARD[name]["right"] if not is_right(needle, answer)] == []
    assert [answer for answer in HARD[name]["wrong"] if is_right(needle, answer)] == []


@each("needle", OURS)
def test_needle_texts_and_accepted_answers_are_right_in_bullets_quotes_or_capitals(needle: Needle) -> None:
    passage = "\n".join(needle.needles)
    bullets = "\n".join(f"- **{text}**" for text in needle.needles)
    first = needle.answers[0]
    for answer in (*needle.answers, passage, bullets, f"{passage}\n\n{first}", f"> {passage}", first.upper()):
        assert is_right(needle, answer), answer
