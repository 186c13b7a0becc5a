"""The faults that show that tests can fail are faults of the present code."""

from __future__ import annotations

import runpy
from pathlib import Path


def test_every_fault_fits_its_file() -> None:
    made = runpy.run_path(str(Path(__file__).with_name("faults_by_hand.py")))
    assert len(made["FAULTS"]) >= 40
    assert made["wrong_faults"]() == []
