"""Tables for terminals, Markdown and LaTeX: every text is shown literally, and none acts as markup."""

from __future__ import annotations

import re

from each import each
from hostile_signs import EVERY
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.report.comparison.typeset import Table, TableCell, as_latex, as_markdown, as_text, in_latex
from niah_score.text.visible import in_markdown, one_line

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


@steady
@given(text=st.text(max_size=12))
def test_any_text_is_set_literally_in_latex(text: str) -> None:
    assert read_latex(in_latex(text)) == one_line(text).replace("–", "--")


@each("text", EVERY)
def test_hostile_texts_are_set_literally_in_latex_and_form_no_ligatures(text: str) -> None:
    set_ = in_latex(text)
    assert read_latex(set_) == one_line(text)
    assert not re.search(r"--|''|,,|``|[?!]`|\n", set_)


@each("text", EVERY)
def test_hostile_texts_do_not_change_the_shape_of_a_latex_table(text: str) -> None:
    lines = as_latex(table(text, TableCell("-1.5", "± 2.0", "≈", bold=True)))
    whole = "\n".join(lines)
    bare = re.sub(r"\\[\\{}$&#%_]", "", whole)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert re.findall(r"\\begin\{(\w+)\}", whole) == ["table", "tabular"]
    assert re.findall(r"\\end\{(\w+)\}", whole) == ["tabular", "table"]
    (line,) = (line for line in lines if r"\textbf{$-$1.5}" in line)
    assert len(re.findall(r"(?<!\\)&", line)) == 1
    assert line == rf"    {in_latex(text)} & \textbf{{$-$1.5}}$\approx$ {{\scriptsize $\pm$ 2.0}} \\"


@each("text", EVERY)
def test_hostile_texts_are_shown_literally_in_markdown(text: str) -> None:
    """As shown by an independent reader of Markdown with tables and links."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")
    cells: list[str] = []
    kinds: set[str] = set()
    for block in reader.parse("\n".join(as_markdown(table(text, TableCell("1.0"))))):
        kinds.add(block.type)
        if block.type == "inline":
            assert {part.type for part in block.children or ()} <= {"text", "text_special", "code_inline"}, (
                block.content
            )
            cells.append("".join(part.content for part in block.children or ()))
    shown = one_line(text).strip()
    assert cells == [shown, "run", "1k", shown, "1.0", shown] or not shown
    assert not {kind for kind in kinds if not kind.startswith(("paragraph", "inline", "table", "t", "heading"))}
    assert not re.search(r"://|www\.|@", re.sub(r"(?<!\\)`[^`]*`", "", in_markdown(text)))


def test_a_table_is_written_in_markdown() -> None:
    cells = TableCell("98.5", "± 1.2", bold=True), TableCell("7.0", mark="†"), TableCell("–")
    made = Table("T", "tab:t", (), ("run", "1k", "2k", "4k"), ((TableCell("a_b"), *cells),), ("n_1", "n2"))
    assert as_markdown(made) == [
        "T",
        "",
        "| run | 1k | 2k | 4k |",
        "| :-- | --: | --: | --: |",
        "| a_b | **98.5** ± 1.2 | 7.0† | – |",
        "",
        "n_1",
        "",
        "n2",
    ]


def test_a_table_is_written_in_latex() -> None:
    cells = TableCell("-8.5", "[-9.0, -7.0]", bold=True), TableCell("<1k", mark="†")
    made = Table("T_1", "tab:t", (("g", 1), ("h", 1)), ("run", "1k", "R"), ((TableCell("a-1"), *cells),), ("a|b",))
    assert as_latex(made) == [
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
    wide = as_latex(table("x", *[TableCell("1.0", "± 2.0")] * 8))
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
    assert as_text(made) == ["T", "  run       1k", "  模型    9.0*", "  abcdef  10.0"]
