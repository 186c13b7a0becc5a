"""OpenCompass predictions: positions, prompts and samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from answer_files import ReadRecords

from niah_score.contract import Message, prompt_digest
from niah_score.formats import Answer, Malformed, read_answers


def shard(**more: Any) -> dict[str, Any]:
    return {"origin_prompt": "p", "prediction": "42", **more}


def test_a_shard_yields_positions_prompt_digests_samples_and_references(tmp_path: Path) -> None:
    path = tmp_path / "needlebench_0.json"
    turns = [{"role": "HUMAN", "prompt": "u"}, {"role": "BOT", "prompt": "b"}, {"role": "HUMAN", "prompt": "v"}]
    chat = [
        Message(role="user", content="u"),
        Message(role="assistant", content="b"),
        Message(role="user", content="v"),
    ]
    path.write_text(
        json.dumps(
            {
                "10": shard(origin_prompt=turns),
                "2": shard(prediction=["a", "b"]),
                "0": shard(origin_prompt=turns[:1], gold=["42", "7"]),
                "3": "lost",
            }
        )
    )
    records = list(read_answers(path))
    assert [(r.position, r.prompt_sha256, r.sample, r.text) for r in records if isinstance(r, Answer)] == [
        (10, prompt_digest(chat), 0, "42"),
        (2, prompt_digest("p"), 0, "a"),
        (2, prompt_digest("p"), 1, "b"),
        (0, prompt_digest("u"), 0, "42"),
    ]
    assert records[3].reference == ("42", "7")  # type: ignore[union-attr]
    assert records[4] == Malformed(4, "not a JSON object; expected one object per record")


def test_temporary_lines_take_their_position_from_idx_or_from_their_order(read_records: ReadRecords) -> None:
    records = read_records(shard(idx=4), shard(idx=2), shard(), shard(idx="x"))
    assert [r.position for r in records if isinstance(r, Answer)] == [4, 2, 2]
    assert "idx is not a place" in records[3].message  # type: ignore[union-attr]


def test_answers_to_our_entries_are_identified_by_the_id_in_gold(read_records: ReadRecords) -> None:
    records = read_records(
        shard(idx=4, gold={"id": "row-1", "answers": ["42", "7"]}), shard(gold={"id": ["x"]}), shard(gold={"id": None})
    )
    assert isinstance(records[0], Answer)
    assert (records[0].id, records[0].position, records[0].reference) == ("row-1", None, ("42", "7"))
    assert records[1] == Malformed(
        2, "gold.id is a list of something else; expected the id of a row, as text or a whole number"
    )
    assert isinstance(records[2], Answer)
    assert records[2].id is None
