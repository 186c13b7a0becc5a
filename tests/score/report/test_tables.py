"""Tables for terminals, Markdown, LaTeX and CSV: every text is shown literally, and none acts."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
from hostile import EVERY
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.report.tables import Table, TableCell, in_latex, plain_cells, table_lines, write_csv
from niah_score.text.visible import as_plain_cell, in_markdown, one_line

steady = examples(150)
# Commands that each set one sign. No other command that we write takes text from outside.
SIGNS = {
    r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~", r"\textless{}": "<",
    r"\textgreater{}": ">", r"\textbar{}": "|", r"\textasciigrave{}": "`", r"\char34{}": '"', r"\textdagger{}": "†",
    r"\textdaggerdbl{}": "‡", r"$\pm$": "±", r"$\geq$": "≥", r"$\approx$": "≈", "{[}": "[", "{]}": "]", "{*}": "*",
    "{}": "",
}  # fmt: skip
TOKEN = re.compile(
    "|".join(map(re.escape, sorted(SIGNS, key=len, reverse=True))) + r"|\\[{}$&#%_]|[^\\{}$&#%_^~<>|`\[\]*\"]"
)


def read_latex(text: str) -> str:
    """The text that LaTeX sets, by a reader that knows signs and plain characters and stops at anything else."""
    signs, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        assert token, f"{text[at:]!r} is a command or a special sign"
        sign = token[0]
        signs.append(SIGNS[sign] if sign in SIGNS else sign[-1])
        at = token.end()
    joined = "".join(signs)
    return joined.replace("–", "--") if "–" not in text else joined


def table(name: str, *cells: TableCell) -> Table:
    return Table(
        name, "tab:x", (("group", len(cells)),), ("run", *("1k" for _ in cells)), ((TableCell(name), *cells),), (name,)
    )


def latex(made: Table) -> list[str]:
    return table_lines(made, "latex")


def markdown(made: Table) -> list[str]:
    return table_lines(made, "markdown")


@steady
@given(text=st.text(max_size=12))
def test_any_text_is_set_literally_in_latex(text: str) -> None:
    assert read_latex(in_latex(text)) == one_line(text).replace("–", "--")


def test_hostile_texts_are_set_literally_in_latex_and_do_not_change_the_shape_of_the_table() -> None:
    for text in EVERY:
        set_ = in_latex(text)
        assert read_latex(set_) == one_line(text)
        assert not re.search(r"--|''|,,|``|[?!]`|\n", set_), text
        lines = latex(table(text, TableCell("-1.5", "± 2.0", "≈", bold=True)))
        whole = "\n".join(lines)
        bare = re.sub(r"\\[\\{}$&#%_]", "", whole)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert re.findall(r"\\begin\{(\w+)\}", whole) == ["table", "tabular"]
        assert re.findall(r"\\end\{(\w+)\}", whole) == ["tabular", "table"]
        (line,) = (line for line in lines if r"\textbf{$-$1.5}" in line)
        assert line == rf"    {set_} & \textbf{{$-$1.5}}$\approx$ {{\scriptsize $\pm$ 2.0}} \\"


def test_hostile_texts_are_shown_literally_in_markdown() -> None:
    """As shown by an independent reader of Markdown with tables and links."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")
    for text in EVERY:
        cells: list[str] = []
        kinds: set[str] = set()
        for block in reader.parse("\n".join(markdown(table(text, TableCell("1.0"))))):
            kinds.add(block.type)
            if block.type == "inline":
                parts = block.children or ()
                assert {part.type for part in parts} <= {"text", "text_special", "code_inline"}, block.content
                cells.append("".join(part.content for part in parts))
        shown = one_line(text).strip()
        assert cells == [shown, "run", "1k", shown, "1.0", shown] or not shown
        assert not {kind for kind in kinds if not kind.startswith(("paragraph", "inline", "table", "t", "heading"))}
        assert not re.search(r"://|www\.|@", re.sub(r"(?<!\\)`[^`]*`", "", in_markdown(text)))


def test_a_table_is_written_in_latex() -> None:
    cells = TableCell("-8.5", "[-9.0, -7.0]", bold=True), TableCell("<1k", mark="†")
    made = Table("T_1", "tab:t", (("g", 1), ("h", 1)), ("run", "1k", "R"), ((TableCell("a-1"), *cells),), ("a|b",))
    assert latex(made) == [
        r"\begin{table}",
        r"  \centering",
        r"  \footnotesize",
        r"  \caption{T\_1}",
        r"  \label{tab:t}",
        r"  \begin{tabular}{lrr}",
        r"    \toprule",
        r"    & \multicolumn{1}{c}{g} & \multicolumn{1}{c}{h} \\",
        r"    \cmidrule(lr){2-2} \cmidrule(lr){3-3}",
        r"    run & 1k & R \\",
        r"    \midrule",
        r"    a-1 & \textbf{$-$8.5} {\scriptsize {[}$-$9.0, $-$7.0{]}} & \textless{}1k\textdagger{} \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        "",
        r"  \medskip",
        r"  \parbox{\linewidth}{\raggedright\scriptsize",
        r"    a\textbar{}\allowbreak{}b\par",
        r"  }",
        r"\end{table}",
    ]


def test_wide_latex_tables_put_intervals_below_their_figures() -> None:
    wide = latex(table("x", *[TableCell("1.0", "± 2.0")] * 8))
    assert sum(line.count(r"\shortstack[r]{1.0\\{\scriptsize $\pm$ 2.0}}") for line in wide) == 8


def test_columns_of_a_text_table_line_up_in_any_script() -> None:
    made = Table(
        "T",
        "t",
        (),
        ("run", "1k"),
        ((TableCell("模型"), TableCell("9.0", bold=True)), (TableCell("abcdef"), TableCell("10.0"))),
        (),
    )
    assert table_lines(made, "text") == ["T", "  run       1k", "  模型    9.0*", "  abcdef  10.0"]


@examples(60)
@given(st.lists(st.none() | st.text(st.sampled_from("=+-@'\t\rab"), max_size=4), max_size=20))
def test_a_csv_column_is_escaped_like_each_of_its_texts(column: list[str | None]) -> None:
    frame = pl.DataFrame({"x": pl.Series(column, dtype=pl.String)}).with_columns(plain_cells(pl.col("x")))
    assert frame["x"].to_list() == [None if text is None else as_plain_cell(text) for text in column]


def test_numbers_in_a_csv_file_have_four_decimals_and_texts_are_plain(tmp_path: Path) -> None:
    frame = pl.DataFrame({"name": ["=x", "y"], "n": [1, -2], "mean": [100 / 3, None], "low": [0.0, None]})
    write_csv(frame.with_columns(high=pl.lit(None)), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text("utf-8") == "name,n,mean,low,high\n'=x,1,33.3333,0.0,\ny,-2,,,\n"
