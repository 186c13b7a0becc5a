"""Neither search nor a constant nor position alone answers the questions of the default dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
from gates import HEADLINE, Gates, measured

import niah_gen

pytestmark = pytest.mark.slow

COUNTED = ("single", "lists", "chains", "one-hop", "two-hop")


def check(gates: Gates) -> None:
    """Check the gates of the default dataset, for the headline and for every part."""
    headline = {solver: means[HEADLINE] for solver, means in gates.means.items()}
    assert headline["BM25"] <= 50
    assert headline["5 hops"] <= 30
    assert headline["one constant"] <= 1
    # The best of many rules, over a grid from 0 to 100, which puts a needle first or last more often than chance does.
    assert headline["position"] <= headline["blind"] + 7
    assert headline["another row's"] <= 1
    assert headline["oracle"] == 100
    for group in gates.rows:
        if group[0] in COUNTED:
            assert gates.means["BM25"][group] <= 50, group
            assert gates.means["5 hops"][group] <= 30, group
        assert gates.means["oracle"][group] == 100, group
        assert gates.means["another row's"][group] <= 5, group
    assert gates.controls["oracle"]["absent"] == ("false_answer_rate", 0.0)
    assert gates.controls["BM25"]["no_context"] == ("guess_rate", 0.0)
    # The plain part is the anchor, which search solves.
    assert gates.means["BM25"]["plain", "en"] == gates.means["BM25"]["plain", "zh"] == 100


@pytest.mark.soak
def test_the_default_dataset_at_8k_keeps_its_gates(tmp_path: Path) -> None:
    check(measured(niah_gen.build("default", tmp_path, overrides={"lengths": "8k"})))


def test_the_default_dataset_keeps_its_gates_at_four_short_lengths(tmp_path: Path) -> None:
    check(measured(niah_gen.build("default", tmp_path, overrides={"lengths": [1000, 1200, 1400, 1600]})))
