"""Judges whether a run dropped against another, and says so: as sentences, a table, and JUnit XML for CI.

The verdict is that of `niah_score.statistics.gate`. Rows without an answer are judged apart: the scores leave them out,
and a run that has significantly more of them fails by its own line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from niah_score.errors import ScoreError
from niah_score.machine.files import write_atomically
from niah_score.report.compare import in_common, named_runs
from niah_score.report.comparison_tables import difference_cell
from niah_score.report.overview import short_name
from niah_score.report.report import Report
from niah_score.report.tables import Table, TableCell, table_lines
from niah_score.statistics.gate import FAILED, PASSED, UNDECIDED, Look, look
from niah_score.statistics.scored import coordinate_text
from niah_score.text.visible import in_markdown, one_line

ALARM, POWER = 0.01, 0.9
_SUITE = "niah-score gate"
_OPENING = b'<?xml version="1.0" encoding="utf-8"?>\n'


@dataclass(frozen=True, repr=False)
class Gate:
    """What a gate says of a candidate. `drop`: in points; `alarm`, `power`: shares of gates, 0 to 1."""

    baseline: str
    candidate: str
    dataset: str
    metric: str
    drop: float
    alarm: float
    power: float
    look: Look
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """passed, failed or undecided."""
        return FAILED if self.look.silent else self.look.verdict

    def sentences(self) -> Iterator[tuple[str, str]]:
        """What was found of the scores, and of the rows without an answer: verdict and sentence of each."""
        yield self.look.verdict, _of_scores(self)
        if not any(self.look.shares):
            yield PASSED, f"both runs answered all {self.look.asked:,} rows that the candidate was asked"
            return
        (before, after), (lost_before, lost_after) = self.look.shares, self.look.lost
        yield (
            FAILED if self.look.silent else PASSED,
            f"{short_name(self.candidate)} leaves {after:.2f} % of the rows without an answer{_listed(lost_after)}, "
            f"{short_name(self.baseline)} {before:.2f} %{_listed(lost_before)}; "
            + ("that is no chance" if self.look.silent else "more are not shown"),
        )

    def lines(self, form: str = "text") -> list[str]:
        """The verdict, the sentences, and a table of the differences by part and length, as text or Markdown.

        Raises ScoreError for another format.
        """
        table = table_lines(self._table(), form)
        said = [f"{verdict}: {sentence}." for verdict, sentence in self.sentences()]
        first = f"gate {self.verdict}"
        if form == "markdown":
            return [f"**{first}**", "", *(f"- {in_markdown(one)}" for one in said), "", *table]
        return [first, *(one_line(sentence) for sentence in said), "", *table]

    def _table(self) -> Table:
        lines = [
            (TableCell(f"{kind} {coordinate_text(one[kind])}"), TableCell(f"{one['n']:,}"), difference_cell(one))
            for kind, one in self._places()
        ]
        notes = (
            "Differences in points with their 95 % intervals, for this look alone; bold: more than noise; ≈: noise, as "
            "in niah-score compare.",
            f"However often they look, at most {100 * self.alarm:g} % of gates of equally good runs fail, and at most "
            f"{100 - 100 * self.power:g} % of those that dropped by {self.drop:g} points pass.",
            *(f"{note}." for note in self.notes),
        )
        title = f"{self.metric} on {self.dataset}: {self.candidate} minus {self.baseline}"
        return Table(title, ("rows of", "n", "difference"), tuple(lines), notes)

    def _places(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for kind, several in self.look.places.items():
            yield from ((kind, one) for one in several if one[kind] is not None and one["n"])

    def junit(self) -> bytes:
        """The gate as JUnit XML: a test case for the scores, the rows without an answer, and each part and length.

        A part or length fails only if the scores do and its own drop is shown at the same rate, adjusted by Holm.
        """
        cases = []
        names = ("scores", "rows without an answer")
        for name, (verdict, sentence) in zip(names, self.sentences(), strict=True):
            cases.append((name, verdict, sentence))
        for kind, one in self._places():
            fell = one["mean"] < 0 and one["adjusted"] is not None and one["adjusted"] <= self.alarm
            sentence = f"{one['mean']:+.2f} points over {one['n']:,} rows"
            verdict = FAILED if fell and self.look.verdict == FAILED else PASSED
            cases.append((f"{kind} {coordinate_text(one[kind])}", verdict, sentence))
        verdicts = [verdict for _, verdict, _ in cases]
        counts = {"tests": str(len(cases)), "failures": str(verdicts.count(FAILED)), "errors": "0"}
        skipped = str(verdicts.count(UNDECIDED))
        root = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
        suite = ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts, "skipped": skipped})
        for name, verdict, sentence in cases:
            about = {"classname": one_line(f"{self.dataset}.{self.candidate}"), "name": one_line(name)}
            case = ElementTree.SubElement(suite, "testcase", about)
            if verdict == PASSED:
                ElementTree.SubElement(case, "system-out").text = one_line(sentence)
            elif verdict == FAILED:
                ElementTree.SubElement(case, "failure", {"message": one_line(sentence), "type": "drop"})
            else:
                ElementTree.SubElement(case, "skipped", {"message": one_line(sentence)})
        ElementTree.indent(root)
        return _OPENING + ElementTree.tostring(root) + b"\n"


def _listed(lost: Mapping[str, int]) -> str:
    counts = ", ".join(f"{status} {count:,}" for status, count in sorted(lost.items()))
    return f" ({counts})" if counts else ""


def _of_scores(gate: Gate) -> str:
    seen = gate.look
    first, second, drop = short_name(gate.baseline), short_name(gate.candidate), f"{gate.drop:g} points"
    if seen.before is None or seen.after is None:
        return f"no row has a {gate.metric} in both {first} and {second} yet"
    apart = seen.after - seen.before
    of_all = f" of {seen.asked:,}" if seen.rows < seen.asked else ""
    so_far = f", {seen.to_come:,} are still to come" if seen.to_come else ""
    figures = (
        f"{gate.metric} {seen.after:.2f}, {abs(apart):.2f} points {'below' if apart < 0 else 'above'} the "
        f"{seen.before:.2f} of {first}, over {seen.rows:,}{of_all} rows of {seen.needles:,} needles{so_far}"
    )
    if seen.verdict == FAILED:
        return f"{second} dropped: {figures}"
    if seen.verdict == PASSED:
        less = "; it did drop, by less" if seen.fell else ""
        return f"{second} has not dropped by {drop}: {figures}{less}"
    if seen.needles < 2:
        return f"with one needle, a drop cannot be told from noise: {second} has {figures}"
    if seen.more is None:
        return f"no drop of {second} is shown: {figures}"
    unclear = f"whether {second} dropped by {drop}"
    if seen.enough:
        return f"it is not clear yet {unclear}: {figures}; at most {seen.more:,} more contexts decide it"
    short = (
        f"the dataset has about {seen.more:,} contexts too few to tell such a drop for certain (niah-gen plan --detect)"
    )
    if seen.to_come:
        return f"it is not clear yet {unclear}: {figures}; the answers still to come may decide it, but {short}"
    return f"it cannot be told {unclear}: {figures}; {short}"


def gate(
    baseline: Report | str | Path, candidate: Report | str | Path, *, drop: float = 5, alarm: float = ALARM,
    power: float = POWER, metric: str = "score",
) -> Gate:  # fmt: skip
    """Judge whether a candidate dropped by `drop` points against a baseline, each a report or a folder of scores.

    `alarm`: of how many gates of equally good runs may fail, 0 to 1; `power`: of how many gates of runs that dropped so
    far must not pass. Rows that the candidate left out (`--missing exclude`) are still to come. Raises what `compare`
    does, and ScoreError for numbers out of range.
    """
    first, second = named_runs((baseline, candidate), metric)
    return gate_named(first, second, drop=drop, alarm=alarm, power=power, metric=metric)


def gate_named(
    baseline: tuple[str, Report], candidate: tuple[str, Report], *, drop: float, alarm: float = ALARM,
    power: float = POWER, metric: str = "score",
) -> Gate:  # fmt: skip
    """As `gate`, for (name, report) pairs."""
    for name, value, low, high in (
        ("drop", drop, 0, 100),
        ("alarm", alarm, 1e-9, 0.5),
        ("power", power, 0.5, 1 - 1e-9),
    ):
        if not (math.isfinite(value) and low <= value <= high):
            raise ScoreError(f"--{name} {value:g}: expected a number from {low:g} to {high:g}")
    (first, second), (one, other), notes, _ = in_common((baseline, candidate), metric)
    seen = look(one, other, metric, drop=drop, alarm=alarm, power=power)
    return Gate(first["name"], second["name"], second["dataset"], metric, drop, alarm, power, seen, tuple(notes))


def write_junit(found: Gate, path: Path) -> None:
    """Write a gate as JUnit XML, in place of an earlier one. Raises ScoreError for a file that is something else."""
    if path.exists() and not path.read_bytes().startswith(_OPENING + f'<testsuites name="{_SUITE}"'.encode()):
        raise ScoreError(f"{path}: is no JUnit file of an earlier gate and stays as it is; choose another --junit")
    write_atomically(path, found.junit())
