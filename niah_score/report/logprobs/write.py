"""Writes the files of scored log-probabilities, and the lines that the command prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from niah_score.contract import VERSION, file_sha256, sealed
from niah_score.machine.staging import FileSet, hold
from niah_score.report.csv_files import plain_cells
from niah_score.report.layout import PROBLEMS, SCORES, SUMMARY
from niah_score.report.logprobs.gain import GainReport, gain_rows, gain_table
from niah_score.report.logprobs.perplexity import PerplexityReport, figure_table, score_table
from niah_score.report.overview import accounts, first_problems

PERPLEXITY_CSV = "perplexity.csv"
GAIN_CSV = "gain.csv"


def write_log_probs(report: PerplexityReport | GainReport, folder: Path, *, overwrite: bool = False) -> Path:
    """Write summary.json, scores.parquet, the figures as CSV and problems.jsonl to a folder, and return it.

    Raises ScoreError if the folder already holds scores and `overwrite` is false, LockedError if another process is
    writing there, ResourceError if it cannot be written to.
    """
    windows = isinstance(report, PerplexityReport)
    table = PERPLEXITY_CSV if windows else GAIN_CSV
    names = (SCORES, PERPLEXITY_CSV, GAIN_CSV, PROBLEMS, SUMMARY)

    def ours(held: Path) -> list[str]:
        return [name for name in names if (held / name).is_file() or (held / name).is_symlink()]

    figures = figure_table(report) if isinstance(report, PerplexityReport) else gain_table(report)
    rows = score_table(report) if isinstance(report, PerplexityReport) else gain_rows(report)
    with hold(folder, FileSet("scores", ours, SUMMARY), overwrite=overwrite) as held:
        return held.replace(partial(_write, report, table, figures, rows))


def _write(
    report: PerplexityReport | GainReport,
    table: str,
    figures: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
) -> None:
    import polars as pl

    # In memory first: given an open file, polars reports a failing disk as a broken Parquet file.
    scores = BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(scores)
    (folder / SCORES).write_bytes(scores.getbuffer())
    frame = pl.DataFrame(figures, infer_schema_length=None)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    with (folder / table).open("wb") as file:
        frame.with_columns(plain_cells(pl.col(name)) for name in texts).write_csv(file)
    with (folder / PROBLEMS).open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(problem._asdict(), ensure_ascii=False) + "\n" for problem in report.problems)
    summary = {
        "kind": table.partition(".")[0], "dataset": report.dataset, "digest8": report.digest8, "model": report.model,
        "version": VERSION, "per": report.asked.per, "missing": report.asked.missing, "signature": report.signature,
        "rows": {"all": len(report.scores), **report.statuses},
        "tokenizer": report.tokenizer if isinstance(report, PerplexityReport) else None,
        "conditions": report.conditions if isinstance(report, GainReport) else None,
        "lines": report.lines._asdict(), "figures": list(figures),
        "files": {
            name: {"sha256": file_sha256(folder / name), "bytes": (folder / name).stat().st_size}
            for name in (SCORES, table, PROBLEMS)
        },
    }  # fmt: skip
    text = json.dumps(sealed(summary), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    (folder / SUMMARY).write_bytes(text.encode())


def printed(report: PerplexityReport | GainReport) -> Iterator[str]:
    """The lines to print: a table, what became of lines and rows, what is missing, problems, the signature."""
    yield from _perplexity_lines(report) if isinstance(report, PerplexityReport) else _gain_lines(report)
    yield ""
    yield from accounts(report.lines, report.statuses)
    if isinstance(report, PerplexityReport):
        tokens = sum(one.missing_tokens for one in report.figures if one.corpus is None)
        if tokens:
            yield f"tokens without a log-probability: {tokens:,}"
    else:
        yield "rows with each condition: " + ", ".join(f"{name} {count:,}" for name, count in report.conditions.items())
    yield from first_problems(report.problems)
    yield report.signature


def _perplexity_lines(report: PerplexityReport) -> Iterator[str]:
    yield f"{report.model}: log-probabilities of {report.dataset} ({report.digest8}), intervals by document"
    head = ("", "length", "rows", "tokens", "nats/token", "perplexity", "95 %", "bits/byte", "95 %")
    lines = []
    for one in figure_table(report):
        counted = f"{one['rows']:,}" if one["rows"] == one["of"] else f"{one['rows']:,} of {one['of']:,}"
        lines.append((
            f"{one['language']} {one['corpus'] or ''}".strip(), f"{one['length']:,}", counted, _whole(one["tokens"]),
            _number(one["nll"]), _number(one["perplexity"]), _ends(one["perplexity_low"], one["perplexity_high"]),
            _number(one["bits_per_byte"]), _ends(one["bits_per_byte_low"], one["bits_per_byte_high"]),
        ))  # fmt: skip
    yield from _aligned(head, lines)


def _gain_lines(report: GainReport) -> Iterator[str]:
    yield (
        f"{report.model}: gain of the context in nats per {report.asked.per}, {report.dataset} ({report.digest8}), "
        "intervals by needle"
    )
    head = ("", "rows", "gain", "95 %", "oracle", "recovery", "95 %", "no gain")
    lines = []
    for one in gain_table(report):
        counted = f"{one['rows']:,}" if one["rows"] == one["of"] else f"{one['rows']:,} of {one['of']:,}"
        lines.append((
            f"{one['group']} {one['value'] or ''}".strip(), counted, _number(one["gain"]),
            _ends(one["gain_low"], one["gain_high"]), _number(one["oracle"]), _number(one["recovery"]),
            _ends(one["recovery_low"], one["recovery_high"]), f"{one['no_oracle_gain']:,}",
        ))  # fmt: skip
    yield from _aligned(head, lines)
    missing = report.figures[0].no_needle
    if missing:
        yield f"{missing:,} rows have no log-probability given the needles alone; recovery leaves them out"
    yield "no gain: rows whose needles alone make the answer no likelier; recovery leaves them out"


def _aligned(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    for line in (head, *lines):
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        yield "  ".join(cells).rstrip()


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if abs(value) < 1000 else f"{value:.5g}"


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _ends(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{_number(low)}, {_number(high)}]"
