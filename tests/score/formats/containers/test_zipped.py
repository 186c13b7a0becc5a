"""Zips: a damaged member costs only its own answer, and bombs are refused, even if each member is harmless."""

from __future__ import annotations

import json
import zipfile
from itertools import islice
from pathlib import Path

import pytest

from niah_score.errors import ResourceError
from niah_score.formats import Malformed, read_answers
from niah_score.formats.containers import zipped


def test_a_damaged_member_of_an_eval_log_leaves_the_others_intact(tmp_path: Path) -> None:
    data = bytearray((Path(__file__).parents[1] / "examples" / "inspect_eval.eval").read_bytes())
    data[data.index(b"samples/2_epoch_1.json") + 40] ^= 255
    path = tmp_path / "log.eval"
    path.write_bytes(data)
    records = list(read_answers(path))
    assert [isinstance(record, Malformed) for record in records] == [False, False, True, False, False, False]
    assert "'samples/2_epoch_1.json': damaged" in records[2].message  # type: ignore[union-attr]


def test_harmless_members_are_refused_if_together_they_are_a_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.eval"
    sample = {"id": "a", "epoch": 1, "input": "p", "output": {"completion": " " * 10_000}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        for number in range(50):
            log.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    assert len(list(read_answers(path))) == 50
    monkeypatch.setattr(zipped, "FREE_BYTES", 15_000)
    monkeypatch.setattr(zipped, "MAX_RATIO", 10)
    records = iter(read_answers(path))
    assert len(list(islice(records, 5))) == 5
    with pytest.raises(ResourceError, match="its members unpack to more than 10 times"):
        list(records)
