"""Writes the dataset card: YAML that `datasets` and the Hub read, and the text below it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_gen.dataset.card_text import CardFacts, CellRows, card_text
from niah_gen.dataset.folders import hold_finished
from niah_gen.dataset.preview import preview_schema, write_entry
from niah_gen.dataset.read import columns_in
from niah_gen.dataset.word_overlap import WordOverlap, front_matter, kept, read_scores
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_score.contract import (
    CARD,
    MANIFEST,
    PREVIEW,
    RECIPE,
    SPLIT,
    Dataset,
    open_dataset,
    row_schema,
)
from niah_score.machine.files import write_atomically

if TYPE_CHECKING:
    import pyarrow as pa

# The Hub's size categories, in rows.
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LARGEST = "n>1M"
# SPDX names of licences that the Hub knows by the same name in lower case.
_HUB_LICENCES = ("CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "MIT", "Apache-2.0", "ODC-By", "PDDL")
# Control characters, line ends, and marks that turn the direction of text; all are below U+10000.
_ACTING = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# The config of all rows; no language has this name.
ALL = "all"


def cell_rows(coordinates: Iterable[tuple[int, float | None, str | None]]) -> list[CellRows]:
    """The number of rows by length, depth and control, sorted in that order; None comes first."""
    counts = Counter(coordinates)
    ordered = sorted(
        counts.items(), key=lambda item: (item[0][0], -1.0 if item[0][1] is None else item[0][1], item[0][2] or "")
    )
    return [CellRows(*coordinate, rows) for coordinate, rows in ordered]


def dataset_card(
    recipe: Recipe,
    dataset: Dataset,
    cells: Sequence[CellRows],
    needles: Iterable[tuple[str | None, str | None]],
    overlap: Sequence[WordOverlap] = (),
) -> bytes:
    """README.md of a dataset folder.

    dataset: its manifest lists the data files and any preview; none is read. cells: the rows counted; needles: the
    part and needle_id of each row; overlap: scores of systems that only match words.
    """
    manifest = dataset.manifest
    files = dataset.files()
    configs = list(dict.fromkeys(file.config for file in files))
    languages = list(dict.fromkeys(name.split("-")[0] for name in configs))
    front: dict[str, Any] = {
        "pretty_name": f"{recipe.name} {recipe.version}",
        **_licence({corpus.license for corpus in manifest.corpora}),
        "language": languages,
        "multilinguality": ["multilingual" if len(languages) > 1 else "monolingual"],
        "annotations_creators": ["machine-generated"],
        "source_datasets": ["original"],
        "task_categories": ["question-answering", "text-generation"],
        "size_categories": [next((name for limit, name in _SIZES if manifest.rows < limit), _LARGEST)],
        "tags": ["long-context", "needle-in-a-haystack", "niah", "synthetic", "evaluation"],
    }
    # Files, not a pattern: one over several folders would put en-10k before en-1k.
    entries = [_config(ALL, [file.entry.path for file in files]) | {"default": True}]
    for name in configs:
        of_config = next(file for file in files if file.config == name)
        entries.append(_config(name, f"{of_config.entry.path.rpartition('/')[0]}/{SPLIT}-*.{of_config.format}"))
    previews = [entry.path for entry in manifest.files if entry.path.startswith(f"{PREVIEW}/")]
    front["configs"] = entries + [_config(PREVIEW, path) for path in previews]
    if files and files[0].format != "parquet":
        schema = row_schema(recipe.form)
        info = [{"config_name": name, "features": features(schema)} for name in (ALL, *configs)]
        short = [{"config_name": PREVIEW, "features": features(preview_schema(recipe.form))} for _ in previews]
        front["dataset_info"] = info + short
    front |= front_matter(overlap)
    rows = {name: sum(file.rows for file in files if file.config == name) for name in configs}
    preview = PREVIEW if previews else None
    body = card_text(
        recipe, manifest, CardFacts(rows, tuple(cells), frozenset(needles), dataset.formats, preview), overlap
    )
    return f"---\n{_yaml(front)}---\n\n{body}".encode()


def rewrite_card(folder: str | Path, *word_overlap: str | Path) -> Path:
    """Rewrite a dataset's card from its recipe, its manifest and the coordinates of its rows; returns its path.

    word_overlap: folders with the scores of systems that only match words, for the card to state; without any, the
    figures already in the card are kept. Raises ContractError if the folder is not a dataset, NiahError if the scores
    cannot be read or do not cover all its rows, IntegrityError if they are another dataset's or rows cannot be read,
    LockedError if another process is building the dataset.
    """
    folder = Path(folder)
    with hold_finished(folder):
        dataset = open_dataset(folder)
        manifest = dataset.manifest
        overlap = tuple(read_scores(Path(scores), manifest) for scores in word_overlap)
        overlap = overlap or kept(folder, manifest.plan_digest)
        recipe = load_recipe(folder / RECIPE, here=False)
        names = ("length", "depth_percent", "control", "part", "needle_id")
        counts = Counter(tuple(map(row.get, names)) for file in dataset.files() for row in columns_in(file.path, names))
        cells = cell_rows((length or 0, depth, control) for length, depth, control, *_ in counts.elements())
        needles = ((part, needle) for *_, part, needle in counts)
        written = write_entry(folder / CARD, dataset_card(recipe, dataset, cells, needles, overlap))
        files = tuple(written if entry.path == CARD else entry for entry in manifest.files)
        write_atomically(folder / MANIFEST, replace(manifest, files=files).to_json())
    return folder / CARD


def _licence(names: set[str]) -> dict[str, str]:
    """The Hub's fields for the licences of all corpora."""
    if len(names) == 1 and (name := next(iter(names))) in _HUB_LICENCES:
        return {"license": name.lower()}
    return {"license": "other", "license_name": "see-corpora" if names else "not-stated"}


def _config(name: str, path: str | list[str]) -> dict[str, Any]:
    return {"config_name": name, "data_files": [{"split": SPLIT, "path": path}]}


def _yaml(front: Mapping[str, Any]) -> str:
    """YAML whose values are JSON, which is valid YAML: no text in them can be mistaken for anything else."""
    lines = []
    for key, value in front.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"- {_json(item)}" for item in value)]
        else:
            lines.append(f"{key}: {_json(value)}")
    return "\n".join(lines) + "\n"


def _json(value: object) -> str:
    """JSON on one line, for YAML readers too, which end lines at more characters than JSON does."""
    return _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def features(schema: pa.Schema) -> list[dict[str, Any]]:
    """The columns of an Arrow schema as `dataset_info.features` lists them, for JSONL files.

    Without them, a column without values in the first file would be taken for a null column, and text in a later file
    would be refused. Parquet files carry their own types.
    """
    return [{"name": column.name, **_feature(column.type)} for column in schema]


def _feature(kind: pa.DataType) -> dict[str, Any]:
    import pyarrow.types as kinds

    if kinds.is_list(kind):
        if kinds.is_struct(kind.value_type):
            return {"list": features(kind.value_type)}
        inner = _feature(kind.value_type)
        return {"list": inner.get("dtype", inner)}
    if kinds.is_struct(kind):
        return {"struct": features(kind)}
    # Arrow's names of the types that `datasets` names differently.
    return {"dtype": {"double": "float64", "large_string": "string"}.get(str(kind), str(kind))}
