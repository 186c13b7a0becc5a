"""Every command that writes, with a kill or an error of the system at its n-th file operation.

What was there is there unchanged or the new is there whole; the same command again ends as if nothing had happened and
leaves nothing behind; errors end with 5 and one sentence that names the file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from every_command import command_names
from fault_bench import EIO, FAULTS, FULL, KILL, Bench, Case, Fault, Wanted, points, problems_of, uninterrupted
from fault_cases import NAMES, Inputs, cases

# In `make test`: those whose files replace others, at some of their operations.
QUICK = ("build with another format", "merge", "card", "judge export", "export over an export")
EACH = 2
# They only print, or need a service.
NOT_TRIED = {
    "niah-gen plan", "niah-gen show", "niah-gen list", "niah-gen verify", "niah-gen diff", "niah-gen presets",
    "niah-gen needles", "niah-gen corpora list", "niah-gen corpora show", "niah-gen corpora fetch", "niah-gen publish",
    "niah-score formats",
}  # fmt: skip


def tried(wanted: Wanted, fault: Fault) -> list[int]:
    """The operations at which a fault is tried: of the three main ones all, of the others every fifth."""
    numbers = list(range(1, wanted.rooms + 1)) if fault is FULL else points(wanted.operations)
    return numbers if fault in (KILL, EIO, FULL) else numbers[::5]


def told(bench: Bench, case: Case, wanted: Wanted, trials: list[tuple[Fault, int]]) -> Iterator[str]:
    for fault, number in trials:
        for problem in problems_of(bench, case, wanted, fault, number):
            yield f"{case.name}, {fault.name} at operation {number}: {problem}"


@pytest.mark.parametrize("name", QUICK)
def test_a_fault_at_some_operations_harms_nothing(name: str, bench: Bench, inputs: Inputs) -> None:
    case = next(case for case in cases(inputs) if case.name == name)
    wanted = uninterrupted(bench, case)
    draw = random.Random(name)
    trials = [(fault, draw.choice(tried(wanted, fault))) for fault in (KILL, KILL, EIO, FULL)[: 2 * EACH]]
    assert list(told(bench, case, wanted, trials)) == []


@pytest.mark.parametrize("name", ["perplexity", "gain"])
def test_a_failing_disk_is_told_as_such_by_the_library_that_writes_tables(
    name: str, bench: Bench, inputs: Inputs
) -> None:
    case = next(case for case in cases(inputs) if case.name == name)
    wanted = uninterrupted(bench, case)
    of_table = [
        number
        for number, operation in enumerate(wanted.operations, 1)
        if operation.startswith("write ") and operation.endswith("/new/scores.parquet")
    ]
    assert of_table
    assert list(told(bench, case, wanted, [(EIO, number) for number in of_table])) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_at_any_operation_harms_nothing(name: str, bench: Bench, inputs: Inputs) -> None:
    case = next(case for case in cases(inputs) if case.name == name)
    wanted = uninterrupted(bench, case)
    trials = [(fault, number) for fault in FAULTS for number in tried(wanted, fault)]
    print(f"{name}: {len(wanted.operations)} operations, {len(trials)} trials")
    assert list(told(bench, case, wanted, trials)) == []


def test_every_command_that_writes_is_tried(inputs: Inputs) -> None:
    assert [case.name for case in cases(inputs)] == list(NAMES)
    lines = [f"{' '.join(case.command)} " for case in cases(inputs)]
    assert {name for name in command_names() if not any(line.startswith(f"{name} ") for line in lines)} == NOT_TRIED
