"""The page docs/python.md runs as a notebook from top to bottom, and its outputs are those that it describes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made import ROOT, Record, made, right

import niah_score

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
CELLS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the notebook: 24 rows, and answers of two models, five and nine of them wrong or missing."""
    path = tmp_path_factory.mktemp("notebook")
    rows = made(24)

    def write(name: str, lines: Sequence[Record]) -> None:
        (path / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    write("rows.jsonl", rows)
    for name, wrong in (("answers", 5), ("other", 9)):
        answers = right(rows)
        for answer in answers[:wrong]:
            answer["prediction"] = "I do not know."
        write(f"{name}.jsonl", answers[1:] if name == "answers" else answers)
    return path


@pytest.fixture(scope="module")
def outputs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The outputs of each cell of the page, by the cell's first line."""
    import nbformat
    from nbclient import NotebookClient

    patch = pytest.MonkeyPatch()
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        patch.setenv(name, str(folder / "jupyter"))
    try:
        cells = [
            {"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None}
            for cell in CELLS
        ]
        book = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells})  # type: ignore[no-untyped-call]
        NotebookClient(
            book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        ).execute()
    finally:
        patch.undo()
    return {cell.source.splitlines()[0]: cell.outputs for cell in book.cells}


def data_of(outputs: dict[str, list[dict[str, Any]]], first: str) -> dict[str, str]:
    """The data of the last output of the cell that begins with `first`, by MIME type."""
    data: dict[str, str] = next(out for line, out in outputs.items() if line.startswith(first))[-1]["data"]
    return data


def test_a_report_shows_its_score_and_its_figures(outputs: dict[str, list[dict[str, Any]]]) -> None:
    shown = data_of(outputs, "import niah_score")
    text = "".join(shown.get("text/html", shown["text/plain"]))
    assert text.index("score 79.17") < text.index("ours") < text.index("as published")


def test_printing_a_report_prints_the_line_that_the_page_shows(outputs: dict[str, list[dict[str, Any]]]) -> None:
    def shape(text: str) -> str:
        """Mask the digest and the numbers, which are those of the rows of this test."""
        return re.sub(r"[0-9a-f]{8}|[\d.]+", "#", text)

    (printed,) = outputs["print(report)"]
    assert f"```text\n{shape(printed['text'])}```" in shape(PAGE)
    assert printed["text"].startswith("<Report my-model on rows ")


def test_figures_are_shown_without_pyplot_and_saved(outputs: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    for first in ("figure = ", "other = "):
        assert base64.b64decode(data_of(outputs, first)["image/png"]).startswith(b"\x89PNG")
    assert (folder / "edit.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "both.png").stat().st_size > 10_000


def test_a_comparison_is_shown_as_tables_and_printed_as_by_its_command(
    outputs: dict[str, list[dict[str, Any]]],
) -> None:
    assert "| other-model |" in data_of(outputs, "found = ")["text/markdown"].replace("\\", "")
    printed = outputs["print(found)"][0]["text"]
    assert re.search(r"differences to my-model\n +run .*\n +other-model +[-+]?\d", printed), printed


def test_a_report_is_read_back_and_an_error_names_the_missing_file(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert data_of(outputs, "folder = ")["text/plain"] == "True"
    assert "nobody.jsonl" in outputs["try:"][0]["text"]


def test_every_public_name_is_on_the_page() -> None:
    assert [name for name in niah_score.__all__ if not re.search(rf"\b{name}\b", PAGE)] == []
