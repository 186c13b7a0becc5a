"""Names rows: an id spells the coordinates and digests what is asked."""

from __future__ import annotations

import re
from functools import lru_cache

from niah_score.contract import ROW_ID, Truth, canonical_json, sha256_hex

_ID_LENGTH = 64
_LOOKS_LIKE_COORDINATES = re.compile(r"\d-d\d{4}")


def row_id(family: str, row: Truth) -> str:
    """The row's id: `<family8>-<corpus>-<length>-d<depth x 10>-<needle>-r<repeat>-<row12>`, at most 64 characters.

    row12 digests prompt, question, answers and keywords, and a control's name; if the readable part cannot spell the
    coordinates in full (a name shortened, a depth finer than 0.1), it digests those too, so that no two rows of a
    dataset share an id.
    """
    depth = round((row["depth_percent"] or 0.0) * 10)
    fixed = f"{family}--{row['length']}-d{depth:04d}--r{row['repeat']}-"
    room = _ID_LENGTH - len(fixed) - 12
    corpus, needle = _slug(row["corpus"]), _slug(row["needle_id"] or "")
    if len(corpus) + len(needle) > room:
        needle = needle[: max(room - len(corpus), room // 2)]
        corpus = corpus[: room - len(needle)]
    truth: list[object] = [row["prompt_sha256"], row["question"], row["answers"], row["keywords"]]
    spelled = (corpus, needle, depth / 10) == (row["corpus"], row["needle_id"], row["depth_percent"])
    # A name that contains something like coordinates could be read in two ways.
    if not spelled or _LOOKS_LIKE_COORDINATES.search(f"{corpus} {needle}"):
        truth.append([row["corpus"], row["needle_id"], row["depth_percent"]])
    if row["control"] is not None:
        truth.append({"control": row["control"]})
    row12 = sha256_hex(canonical_json(truth))[:12]
    name = f"{family}-{corpus}-{row['length']}-d{depth:04d}-{needle}-r{row['repeat']}-{row12}"
    if not ROW_ID.fullmatch(name):
        raise ValueError(f"row id {name!r} is outside the alphabet: a bug")
    return name


# A dataset has few corpora and needles, and many rows of each.
@lru_cache(maxsize=256)
def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.rsplit("/", 1)[-1])
