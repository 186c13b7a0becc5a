"""Every command that writes, with a kill or a system error at its n-th file operation.

The old files are unchanged or the new ones complete; the same command run again ends as if nothing had happened and
leaves nothing behind; errors end with exit code 5 and one sentence that names the file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from every_command import command_names
from fault_bench import EIO, FAULTS, FULL, KILL, Bench, Case, Expected, Fault, points, problems_of, uninterrupted
from fault_cases import NAMES, Inputs, cases

# Tried in `make test`: commands that replace files, at some of their operations.
QUICK = ("build with another format", "merge", "card", "judge export", "export over an export")
EACH = 2
# These commands only print, or need a service.
NOT_TRIED = {
    "niah-gen plan", "niah-gen show", "niah-gen list", "niah-gen verify", "niah-gen diff", "niah-gen presets",
    "niah-gen needles", "niah-gen corpora list", "niah-gen corpora show", "niah-gen corpora fetch", "niah-gen publish",
    "niah-score diagnose", "niah-score formats",
}  # fmt: skip


def operations_to_try(expected: Expected, fault: Fault) -> list[int]:
    """The operations at which a fault is tried: all for the three main faults, every fifth for the others."""
    numbers = list(range(1, expected.rooms + 1)) if fault is FULL else points(expected.operations)
    return numbers if fault in (KILL, EIO, FULL) else numbers[::5]


def reports(bench: Bench, case: Case, expected: Expected, trials: list[tuple[Fault, int]]) -> Iterator[str]:
    for fault, number in trials:
        for problem in problems_of(bench, case, expected, fault, number):
            yield f"{case.name}, {fault.name} at operation {number}: {problem}"


@pytest.mark.parametrize("name", QUICK)
def test_a_fault_at_some_operations_harms_nothing(name: str, bench: Bench, inputs: Inputs) -> None:
    case = next(case for case in cases(inputs) if case.name == name)
    expected = uninterrupted(bench, case)
    draw = random.Random(name)
    trials = [(fault, draw.choice(operations_to_try(expected, fault))) for fault in (KILL, KILL, EIO, FULL)[: 2 * EACH]]
    assert list(reports(bench, case, expected, trials)) == []


@pytest.mark.parametrize("name", ["perplexity", "gain"])
def test_a_disk_that_fails_while_tables_are_written_is_reported(name: str, bench: Bench, inputs: Inputs) -> None:
    case = next(case for case in cases(inputs) if case.name == name)
    expected = uninterrupted(bench, case)
    table_writes = [
        number
        for number, operation in enumerate(expected.operations, 1)
        if operation.startswith("write ") and operation.endswith("/new/scores.parquet")
    ]
    assert table_writes
    assert list(reports(bench, case, expected, [(EIO, number) for number in table_writes])) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_at_any_operation_harms_nothing(name: str, bench: Bench, inputs: Inputs) -> None:
    case = next(case for case in cases(inputs) if case.name == name)
    expected = uninterrupted(bench, case)
    trials = [(fault, number) for fault in FAULTS for number in operations_to_try(expected, fault)]
    print(f"{name}: {len(expected.operations)} operations, {len(trials)} trials")
    assert list(reports(bench, case, expected, trials)) == []


def test_every_command_that_writes_is_tested(inputs: Inputs) -> None:
    assert [case.name for case in cases(inputs)] == list(NAMES)
    lines = [f"{' '.join(case.command)} " for case in cases(inputs)]
    assert {name for name in command_names() if not any(line.startswith(f"{name} ") for line in lines)} == NOT_TRIED
