"""Writes a package for verifiers: the rows in one Parquet file, and a module that gives them out and judges answers.

It needs niah-score and nothing of the dataset's folder, so that it can be installed where a model is trained.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from niah_gen.export.base import Chosen, ExportFormat, ExportOptions
from niah_gen.export.contexts import CONTEXT_FILES, asked_rows
from niah_gen.export.exported_tasks import OPTIONS
from niah_gen.export.harnesses import template
from niah_score.contract import VERSION, Manifest, row_schema

_FOLDER = "verifiers"
# Bytes of prompts in a row group.
_GROUP_BYTES = 16_000_000


def package_of(manifest: Manifest) -> str:
    """The name of a dataset's package, with `_` between its words; it has the digest, as splits share their name."""
    words = re.findall("[a-z0-9]+", manifest.name.lower())
    return "_".join(["niah", *words, manifest.digest8])


def _verifiers(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    manifest = chosen.dataset.manifest
    package = package_of(manifest)
    place = folder / _FOLDER / package
    place.mkdir(parents=True)
    schema = row_schema("chat").insert(0, pa.field("context_file", pa.string()))
    with pq.ParquetWriter(place / "rows.parquet", schema, compression="zstd") as writer:
        for rows in _groups(chosen, place, options):
            writer.write_table(pa.Table.from_pylist(rows, schema))
    (place / "__init__.py").write_text(template("verifiers.py"), "utf-8", newline="")
    project = template("verifiers_pyproject.toml", {
        "NAME": package.replace("_", "-"), "PACKAGE": package, "RELEASE": VERSION,
        "VERSION": manifest.version if re.fullmatch(r"\d+(\.\d+)*", manifest.version) else "0",
        "DESCRIPTION": json.dumps(f"Rows of {manifest.name} {manifest.version} ({manifest.digest8})"),
    })  # fmt: skip
    (folder / _FOLDER / "pyproject.toml").write_text(project, "utf-8", newline="")
    names = [f"{_FOLDER}/pyproject.toml", f"{_FOLDER}/{package}/__init__.py", f"{_FOLDER}/{package}/rows.parquet"]
    return {name: len(chosen.entries) * name.endswith("parquet") for name in names}


def _groups(chosen: Chosen, place: Path, options: ExportOptions) -> Iterator[list[dict[str, Any]]]:
    """The rows as they are sent, so many at a time as have a bounded size."""
    group: list[dict[str, Any]] = []
    size = 0
    for row in asked_rows(chosen, row_schema("chat").names, place, options):
        messages = options.messages(row)
        group.append({**row, "prompt": messages, "max_new_tokens": options.limit(row)})
        size += sum(len(message["content"]) for message in messages)
        if size > _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _parts_weighed(chosen: Chosen) -> str | None:
    """What the mean of rewards is, where it is not the headline."""
    if len({row["part"] for row in chosen.entries}) < 2 and not any(row["control"] for row in chosen.entries):
        return None
    return "the mean reward is that of all rows; niah-score's headline weighs parts and leaves out controls"


VERIFIERS = ExportFormat(
    "a package for verifiers: tasks whose reward is the score of niah-score, from 0 to 1",
    f"{_FOLDER}/pyproject.toml {_FOLDER}/niah_*/__init__.py {_FOLDER}/niah_*/rows.parquet "
    f"{_FOLDER}/niah_*/{CONTEXT_FILES}",
    _verifiers, (*OPTIONS, "context_file"),
    advice="install it: pip install {out}/verifiers, and run it: vf-eval {package} --model NAME --client.base-url URL "
    "--client.api-key-var OPENAI_API_KEY --env.agent.runtime.type subprocess --no-push",
    doubt=_parts_weighed,
)  # fmt: skip
