"""Zips: a damaged member costs its own answer only."""

from __future__ import annotations

from pathlib import Path

from niah_score.formats import Malformed, read_answers


def test_a_damaged_member_of_an_eval_log_leaves_the_others(tmp_path: Path) -> None:
    data = bytearray((Path(__file__).parents[1] / "examples" / "inspect_eval.eval").read_bytes())
    data[data.index(b"samples/2_epoch_1.json") + 40] ^= 255
    path = tmp_path / "log.eval"
    path.write_bytes(data)
    found = list(read_answers(path))
    assert [isinstance(record, Malformed) for record in found] == [False, False, True, False, False, False]
    assert "'samples/2_epoch_1.json': damaged" in found[2].message  # type: ignore[union-attr]
