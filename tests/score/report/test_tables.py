"""Tables for terminals, Markdown and CSV: every text is shown literally, and none acts."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import polars as pl
import pytest
from hostile import EVERY

from niah_score.report.tables import Table, TableCell, table_lines, write_csv
from niah_score.text.visible import in_markdown, one_line


def test_hostile_texts_are_shown_literally_in_markdown() -> None:
    """As shown by an independent reader of Markdown with tables and links."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")
    for text in EVERY:
        made = Table(text, ("run", "1k"), ((TableCell(text), TableCell("1.0")),), (text,))
        cells: list[str] = []
        kinds: set[str] = set()
        for block in reader.parse("\n".join(table_lines(made, "markdown"))):
            kinds.add(block.type)
            if block.type == "inline":
                parts = block.children or ()
                assert {part.type for part in parts} <= {"text", "text_special", "code_inline"}, block.content
                cells.append("".join(part.content for part in parts))
        shown = one_line(text).strip()
        assert cells == [shown, "run", "1k", shown, "1.0", shown] or not shown
        assert not {kind for kind in kinds if not kind.startswith(("paragraph", "inline", "table", "t", "heading"))}
        assert not re.search(r"://|www\.|@", re.sub(r"(?<!\\)`[^`]*`", "", in_markdown(text)))


def test_columns_of_a_text_table_line_up_in_any_script() -> None:
    lines = (TableCell("模型"), TableCell("9.0", bold=True)), (TableCell("abcdef"), TableCell("10.0"))
    made = Table("T", ("run", "1k"), lines, ())
    assert table_lines(made, "text") == ["T", "  run       1k", "  模型    9.0*", "  abcdef  10.0"]


def test_numbers_in_a_csv_file_have_four_decimals_and_texts_are_plain(tmp_path: Path) -> None:
    frame = pl.DataFrame({"name": ["=x", "y"], "n": [1, -2], "mean": [100 / 3, None], "low": [0.0, None]})
    write_csv(frame.with_columns(high=pl.lit(None)), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text("utf-8") == "name,n,mean,low,high\n'=x,1,33.3333,0.0,\ny,-2,,,\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_disk_without_room_is_reported_as_such() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        write_csv(pl.DataFrame({"mean": [1.0]}), Path("/dev/full"))
    assert caught.value.errno == errno.ENOSPC
