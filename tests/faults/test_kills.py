"""Builds that are killed at random moments, several builds at once, and workers that are killed."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter

import pytest
from fault_bench import Bench, Case, changed, is_leftover, tree, visible
from fault_cases import MANY, Inputs, refused_by_verify
from properties import FACTOR

_BUILD = ("niah-gen", "build", *MANY, "--out", "disk")


def whole_build(bench: Bench, command: tuple[str, ...]) -> tuple[dict[str, bytes | None], float]:
    """What an undisturbed build leaves, and how many seconds it takes."""
    shutil.rmtree(bench.disk, ignore_errors=True)
    bench.disk.mkdir(parents=True)
    started = time.monotonic()
    done = bench.run(Case("build", command))
    assert done.code == 0, done
    return tree(bench.disk), time.monotonic() - started


def killed_builds(bench: Bench, kills: int, command: tuple[str, ...], seed: int) -> Counter[str]:
    """Kill builds at random moments, each one again and again until it completes; returns how they ended."""
    expected, seconds = whole_build(bench, command)
    assert not any(map(is_leftover, expected))
    draw = random.Random(f"{seed}/kills")
    case = Case("build", command, refused=refused_by_verify)
    ends: Counter[str] = Counter()
    while ends["killed"] + ends["through"] < kills:
        shutil.rmtree(bench.disk)
        bench.disk.mkdir()
        while True:
            ended = bench.run(case, kill_after=min(3.0, draw.uniform(0.2, 1.2) * seconds))
            left = visible(tree(bench.disk))
            if ended.code != -signal.SIGKILL:
                assert ended.code == 0, ended
                ends["through"] += 1
                break
            ends["killed"] += 1
            # Never half a dataset under its name: all or nothing.
            assert left in ({}, visible(expected)), changed(left, visible(expected))
            ends["dataset there" if left else "nothing there"] += 1
            if ends["killed"] + ends["through"] >= kills:
                assert bench.run(case).code == 0
                break
        assert not changed(tree(bench.disk), expected)
        ends["the same bytes"] += 1
    return ends


def test_builds_that_are_killed_and_run_again_write_the_same_bytes(bench: Bench, inputs: Inputs) -> None:
    killed_builds(bench, 4, _BUILD, 1)


@pytest.mark.soak
@pytest.mark.parametrize(
    "flags", [(), ("--format", "parquet,jsonl.zst"), ("--jobs", "2")], ids=["", "formats", "workers"]
)
def test_two_hundred_random_kills_leave_no_half_dataset(flags: tuple[str, ...], bench: Bench, inputs: Inputs) -> None:
    kills = 40 if flags == ("--jobs", "2") else 80
    ends = killed_builds(bench, kills, (*_BUILD, *flags), FACTOR)
    assert ends["killed"] >= kills // 4, dict(ends)  # of 200 kills, 122 came before the build had ended


def builders(bench: Bench, rounds: int) -> Counter[str]:
    """Start eight builds of one dataset at once, in several rounds; returns how they ended."""
    expected, _ = whole_build(bench, _BUILD)
    ends: Counter[str] = Counter()
    for _ in range(rounds):
        shutil.rmtree(bench.disk)
        bench.disk.mkdir()
        ended = bench.server.run(_BUILD, bench.place, bench.place / "nowhere", times=8)
        built = [one for one in ended if one.code == 0 and "nothing was built" not in one.err]
        late = [one for one in ended if one.code == 0 and "nothing was built" in one.err]
        refused = [one for one in ended if one.code == 11 and "another process is building it" in one.err]
        assert len(built) == 1, ended
        assert len(built) + len(late) + len(refused) == 8, ended
        assert not changed(tree(bench.disk), expected)
        ends += Counter(rounds=1, built=len(built), refused=len(refused), late=len(late))
    return ends


def test_one_of_eight_simultaneous_builds_writes_and_the_others_say_why_not(bench: Bench, inputs: Inputs) -> None:
    assert builders(bench, 1)["built"] == 1


@pytest.mark.soak
def test_one_of_eight_simultaneous_builds_writes_in_each_of_a_hundred_rounds(bench: Bench, inputs: Inputs) -> None:
    print(dict(builders(bench, 100)))
