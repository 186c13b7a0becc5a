"""The registry of task families: each name leads to its family's record."""

from __future__ import annotations

import subprocess
import sys

import pytest
from each import each

from niah_gen.tasks.registry import TASK_HOMES, find_task


@each("name", TASK_HOMES)
def test_a_family_is_found_under_its_own_name(name: str) -> None:
    assert find_task(name).name == name


@pytest.mark.slow
def test_finding_a_family_imports_no_other() -> None:
    code = (
        "import sys; from niah_gen.tasks.registry import find_task; find_task('uuid-chain');"
        "print(*(name for name in sys.modules if name.startswith('niah_gen.tasks.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "niah_gen.tasks.chains" in loaded
    assert not {"niah_gen.tasks.coreference", "niah_gen.tasks.graph_walks"} & set(loaded)
    assert not [name for name in loaded if name.startswith("niah_gen.tasks.published.")]
