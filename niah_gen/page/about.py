"""Collects what the page says about the whole dataset: its manifest, its parts and controls, its axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from niah_gen.page.figures import ABOUT, GridFigures, short
from niah_gen.page.reserves import Reserves
from niah_score.contract import Dataset

# The most of each list to embed.
_MOST_NOTES = 20
_MOST_CORPORA = 60
_MOST_PARTS = 50
_MOST_CONTROLS = 12
_LONGEST_NOTE = 600


def about(dataset: Dataset, figures: GridFigures, reserves: Reserves) -> dict[str, Any]:
    """The head of the page and the counts of its grid, for JSON."""
    manifest = dataset.manifest
    return {
        "dataset": {
            "name": short(manifest.name),
            "version": short(manifest.version),
            "digest8": manifest.digest8,
            "content_digest": short(manifest.content_digest),
            "rows": manifest.rows,
            "tokens": manifest.tokens,
            "tokenizer": short(manifest.tokenizer.name),
            "generator_version": short(manifest.generator_version),
            "formats": [short(name) for name in dataset.formats],
            "bytes": sum(entry.bytes for entry in manifest.files),
            **{name: [short(value) for value in figures.about[name]] for name in ABOUT},
        },
        "notes": [len(manifest.notes), [short(note, _LONGEST_NOTE) for note in manifest.notes[:_MOST_NOTES]]],
        "corpora": [
            [
                short(corpus.name),
                short(corpus.license),
                short(corpus.source),
                corpus.files,
                corpus.documents,
                corpus.tokens,
                corpus.share_left_out,
            ]
            for corpus in manifest.corpora[:_MOST_CORPORA]
        ],
        "corpora_left": max(len(manifest.corpora) - _MOST_CORPORA, 0),
        "makeup": _makeup(dataset, figures),
        "budgets": reserves.every is not None or bool(reserves.parts),
        "lengths": figures.lengths.labels,
        "depths": figures.depths.labels,
        "grouped": {"lengths": figures.lengths.grouped, "depths": figures.depths.grouped},
        "filters": [{"name": name, "values": values} for name, values in figures.filters],
        "left_out": figures.left_out,
        "sums": {"codes": [list(column) for column in zip(*figures.codes, strict=True)], **figures.sums},
    }


def _makeup(dataset: Dataset, figures: GridFigures) -> dict[str, Any] | None:
    """How many rows each part has of each control, and its weight; None if there is one part and no control."""
    names = [name for name, _ in figures.filters]
    if "part" not in names and "control" not in names:
        return None
    values = dict(figures.filters)
    parts, controls = values.get("part", [None])[:_MOST_PARTS], values.get("control", [None])
    # Rows of no control come first, although None is the last value.
    shown = sorted(range(len(controls)), key=lambda place: controls[place] is not None)[:_MOST_CONTROLS]
    counts: dict[tuple[int, int], int] = {}
    for code, rows in zip(figures.codes, figures.sums["rows"], strict=True):
        key = (_code(code, names, "part"), _code(code, names, "control"))
        counts[key] = counts.get(key, 0) + rows
    weights: Mapping[str | None, float] = {short(part.name): part.weight for part in dataset.manifest.parts}
    order = {short(part.name): place for place, part in enumerate(dataset.manifest.parts)}
    lines = sorted(range(len(parts)), key=lambda place: (order.get(str(parts[place]), len(order)), place))
    return {
        "controls": [controls[place] for place in shown],
        "weighted": bool(weights),
        "lines": [
            [
                place,
                parts[place],
                weights.get(parts[place]),
                [counts.get((place, control), 0) for control in shown],
                sum(rows for (part, _), rows in counts.items() if part == place),
            ]
            for place in lines
        ],
    }


def _code(code: tuple[int, ...], names: list[str], name: str) -> int:
    return code[2 + names.index(name)] if name in names else 0
