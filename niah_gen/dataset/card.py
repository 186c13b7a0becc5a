"""Writes the dataset card: YAML that `datasets` and the Hub read, and text for people below it."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from niah_gen.prompts.templates import POSITIONS
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.rows.floors import BEST_SOLVER, difference_told, floors_of
from niah_gen.rows.plan import Plan
from niah_score.contract import (
    DATA_FORMATS,
    PREVIEW,
    SPLIT,
    Dataset,
    FileEntry,
    Manifest,
    PartEntry,
    PromptForm,
    Span,
    canonical_json,
    length_name,
    row_schema,
    sha256_hex,
)  # fmt: skip
from niah_score.machine.files import write_atomically
from niah_score.text.visible import in_markdown, paragraph_in_markdown

if TYPE_CHECKING:
    import pyarrow as pa

# What the Hub's viewer shows on one page.
_MOST_ROWS = 100
_MOST_OF_A_KIND = 5
# Columns that stay true of a prompt that was cut: no spans, no hash of it.
COLUMNS = (
    "id", "part", "control", "language", "corpus", "length", "depth_percent", "needle_id", "question", "answers",
    "needles", "decoys", "metric", "prompt_tokens", "prompt",
)  # fmt: skip

# Characters of a prompt to keep: at its beginning, at its end, around a needle, and of a needle itself.
_HEAD, _TAIL, _AROUND, _NEEDLE = 240, 400, 160, 400
_MOST_NEEDLES = 4
_MOST_MESSAGES = 6
# The longest text in any other column; gaps shorter than this are not cut, as the replacement would be as long.
_MOST_TEXT, _LEAST_GAP = 1000, 60


def chosen_rows(plan: Plan) -> list[list[int]]:
    """The rows that the preview shows: for each shard, their positions in it, from 0.

    Up to five rows of each part and control in each config, each time from different positions, so that depths and
    needles vary; evenly thinned to 100.
    """
    kinds: dict[tuple[str, str | None, str | None], list[int]] = {}
    for number, cell in enumerate(plan.cells):
        kinds.setdefault((cell.config, cell.part, cell.control), []).append(number)
    each = max(1, min(_MOST_OF_A_KIND, _MOST_ROWS // max(1, len(kinds))))
    # Multiples of the golden ratio spread evenly, however many there are.
    rows = sorted(
        {
            cells[(each * turn + number) * 618 % 1000 * len(cells) // 1000]
            for turn, cells in enumerate(kinds.values())
            for number in range(each)
        }
    )
    count = min(len(rows), _MOST_ROWS)
    rows = [rows[turn * len(rows) // count] for turn in range(count)]
    return [[row - shard.first for row in rows if shard.first <= row < shard.last] for shard in plan.shards]


def write_entry(path: Path, data: bytes) -> FileEntry:
    """Write a file without rows, whole or not at all; returns its entry, with the file's name as its path."""
    write_atomically(path, data)
    return FileEntry(path.name, sha256_hex(data), None, len(data))


def write_preview(folder: Path, short: Sequence[Mapping[str, Any]], suffix: str, form: PromptForm) -> FileEntry:
    """Write the preview of a dataset folder; returns its entry in the manifest.

    short: the results of `short_row`, in dataset order. suffix: the format of the data files that the card names, as
    `datasets` reads all configs of a card with one reader.
    """
    lines = b"".join(canonical_json(row) + b"\n" for row in short)
    if suffix == "parquet":
        import pyarrow as pa
        import pyarrow.json as pj
        import pyarrow.parquet as pq

        # A table made of Python values would import pandas, if it is installed, for a second.
        parsing = pj.ParseOptions(explicit_schema=preview_schema(form))
        table = pj.read_json(pa.BufferReader(lines), pj.ReadOptions(block_size=len(lines) + 1), parsing)
        out = io.BytesIO()
        pq.write_table(table.select(COLUMNS), out, compression="zstd", compression_level=9, write_page_checksum=True)
        data = out.getvalue()
    else:
        suffix, data = "jsonl", lines
    path = f"{PREVIEW}/{SPLIT}.{suffix}"
    entry = write_entry(folder / path, data)
    return FileEntry(path, entry.sha256, None, entry.bytes)


def preview_schema(form: PromptForm) -> pa.Schema:
    """The Arrow schema of the preview's rows."""
    import pyarrow as pa

    whole = row_schema(form)
    return pa.schema([whole.field(name) for name in COLUMNS])


def excerpt(text: str, spans: Sequence[Span] = ()) -> str:
    """A prompt's beginning, its end and the text around its first needles, with the number of characters between."""
    wanted = [(0, _HEAD), (len(text) - _TAIL, len(text))]
    wanted += [
        (span["start"] - _AROUND, min(span["end"], span["start"] + _NEEDLE) + _AROUND) for span in spans[:_MOST_NEEDLES]
    ]
    shown, at = "", 0
    for start, end in kept_ranges(len(text), wanted, _LEAST_GAP):
        shown += f" [... {start - at:,} characters ...] " if start > at else ""
        shown += text[start:end]
        at = end
    return shown


def short_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as the preview shows it."""
    short = {name: _short(row[name]) for name in COLUMNS}
    prompt, context = row["prompt"], row["context_message"]
    if isinstance(prompt, str):
        return {**short, "prompt": excerpt(prompt, row["needle_spans"])}
    numbers = kept_messages(len(prompt), [context] if context >= 0 else [], _MOST_MESSAGES)
    messages = []
    for before, number in zip([-1, *numbers], numbers, strict=False):
        text = excerpt(prompt[number]["content"], row["needle_spans"] if number == context else ())
        left_out = number - before - 1
        gap = f"[... {left_out:,} messages ...] " if left_out else ""
        messages.append({"role": prompt[number]["role"], "content": gap + text})
    return {**short, "prompt": messages}


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(item) for item in value]
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        return f"{value[:_MOST_TEXT]} [... {len(value) - _MOST_TEXT:,} characters ...]"
    return value


def kept_ranges(length: int, wanted: Iterable[tuple[int, int]], least_gap: int) -> list[tuple[int, int]]:
    """The ranges to show of a text of `length` characters: disjoint, in order, within the text.

    wanted: ranges in any order, which may overlap or reach beyond the text. A gap of fewer than `least_gap` characters
    is shown too, since its replacement would be no shorter.
    """
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, end in sorted(wanted):
        start = max(start if start - at >= least_gap else at, at)
        end = min(end, length)
        if end <= start:
            continue
        if ranges and start == at:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
        at = end
    return ranges


def kept_messages(count: int, wanted: Collection[int], most: int) -> list[int]:
    """The messages to show of a conversation: all, or if more than `most` the first two, last two and wanted ones."""
    if count <= most:
        return list(range(count))
    return sorted({0, 1, count - 2, count - 1, *wanted})


if TYPE_CHECKING:
    import pyarrow as pa

# How many rows have a length (tokens; 0 for none), a depth (percent; None for none), a control or None, the name of a
# part or None, and a needle.
Cells = Mapping[tuple[int, float | None, str | None, str | None, str | None], int]

# Stands for the dataset's location until that is known.
PLACE = "THIS_FOLDER"
# In every card, beside the bundled corpora and in the needle library: filtering training data by it drops them all, and
# a model that completes it has seen one of them.
CANARY = "niah test data, keep out of training: canary a248c353-a044-4beb-b0e0-9ec841b406e5"

# The Hub's size categories, in rows.
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M", 2**62: "n>1M"}
# SPDX names of licences that the Hub knows by the same name in lower case.
_HUB_LICENCES = ("CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "MIT", "Apache-2.0", "ODC-By", "PDDL")
# Control characters, line ends, and marks that turn the direction of text; all are below U+10000.
_ACTING = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# The most needles that a card names, and the most values of an axis.
_NAMED, _MOST_VALUES = 12, 24
_CHANCE = (
    "All questions over a context have different answers, so an answer that ignores the question is right for at most "
    "one of them. In points, 0 to 100:"
)
_CHANCE_VARIED = (
    "Over a context, 0 to 2 questions have no answer in the text, and all others have different answers, so an answer "
    "that ignores the question is right for at most two of them. In points, 0 to 100:"
)
_REST = Path(__file__).parents[1] / "library" / "card.md"
_CONTROLS = {
    "no_context": "the question alone: what is answered here is guessed or known, not read (guess rate)",
    "absent": 'the needle is left out: an answer that is not "not stated" is made up (false-answer rate)',
    "literal": "the question in the needle's own words: a model that fails here has not read the text",
    "conflict": "a second text says otherwise: the answer should name both (one-sided rate)",
}


def dataset_card(recipe: Recipe, dataset: Dataset, cells: Cells) -> bytes:
    """README.md of a dataset folder. dataset: its manifest lists the data files and any preview; none is read."""
    manifest, files = dataset.manifest, dataset.files()
    configs = dict.fromkeys(file.config for file in files)
    languages = list(dict.fromkeys(name.split("-")[0] for name in configs))
    licences = {corpus.license for corpus in manifest.corpora}
    front: dict[str, Any] = {"pretty_name": f"{recipe.name} {recipe.version}"}
    if len(licences) == 1 and (name := min(licences)) in _HUB_LICENCES:
        front["license"] = name.lower()
    else:
        front |= {"license": "other", "license_name": "see-corpora" if licences else "not-stated"}
    front |= {
        "language": languages,
        "multilinguality": ["multilingual" if len(languages) > 1 else "monolingual"],
        "annotations_creators": ["machine-generated"],
        "source_datasets": ["original"],
        "task_categories": ["question-answering", "text-generation"],
        "size_categories": [next(name for limit, name in _SIZES.items() if manifest.rows < limit)],
        "tags": ["long-context", "needle-in-a-haystack", "niah", "synthetic", "evaluation"],
    }
    # Files, not a pattern: one over several folders would put en-10k before en-1k.
    entries = [_config("all", [file.entry.path for file in files]) | {"default": True}]
    for name in configs:
        first = next(file for file in files if file.config == name)
        entries.append(_config(name, f"{first.entry.path.rpartition('/')[0]}/{SPLIT}-*.{first.format}"))
    previews = [entry.path for entry in manifest.files if entry.path.startswith(f"{PREVIEW}/")]
    front["configs"] = entries + [_config(PREVIEW, path) for path in previews]
    if files and files[0].format != "parquet":
        columns, short = features(row_schema(recipe.form)), features(preview_schema(recipe.form))
        front["dataset_info"] = [{"config_name": name, "features": columns} for name in ("all", *configs)]
        front["dataset_info"] += [{"config_name": PREVIEW, "features": short} for _ in previews]
    yaml = [
        # Values in JSON, which is valid YAML: no text in them can be mistaken for anything else.
        f"{key}:\n" + "\n".join(f"- {_json(item)}" for item in value)
        if isinstance(value, list)
        else f"{key}: {_json(value)}"
        for key, value in front.items()
    ]
    return "\n".join(["---", *yaml, "---", "", *_text(recipe, dataset, cells), ""]).encode()


def _config(name: str, path: str | list[str]) -> dict[str, Any]:
    return {"config_name": name, "data_files": [{"split": SPLIT, "path": path}]}


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

    if kinds.is_struct(kind):
        return {"struct": features(kind)}
    if kinds.is_list(kind):
        inner = _feature(kind.value_type)
        return {"list": next(iter(inner.values())) if len(inner) == 1 and "list" not in inner else inner}
    # Arrow's names of the types that `datasets` names differently.
    return {"dtype": {"double": "float64", "large_string": "string"}.get(str(kind), str(kind))}


def _text(recipe: Recipe, dataset: Dataset, cells: Cells) -> Iterator[str]:
    """The lines of Markdown below the card's YAML."""
    manifest = dataset.manifest
    tokenizer, full_name = manifest.tokenizer, f"{recipe.name}/{recipe.version}-{manifest.digest8}"
    needles = {(part, needle) for _, _, _, part, needle in cells}
    languages = {file.config.split("-")[0] for file in dataset.files()}
    shared, of_parts = _of_parts(recipe, manifest.parts, needles, bool(manifest.corpora))
    yield from (
        f"# {in_markdown(recipe.name)} {in_markdown(recipe.version)}",
        "",
        _opening(recipe, manifest, cells),
        "",
    )
    yield from ("| | |", "|---|---|", f"| dataset | {in_markdown(full_name)} |")
    yield f"| rows | sha256 {in_markdown(manifest.content_digest)} over all columns of all rows |"
    yield f"| tokenizer | {in_markdown(tokenizer.name)} (sha256 {in_markdown(tokenizer.sha256)}) |"
    yield f"| prompts | {'messages of a chat' if recipe.form == 'chat' else 'one text'} |"
    yield from (*shared, "", *of_parts, *_controls(cells), *_floors(recipe, cells, len(languages)), *_grid(cells))
    if manifest.corpora:
        yield from (
            "## Corpora",
            "",
            "Haystacks are cut from these texts, and their licences hold for the prompts.",
            "",
        )
        yield from ("| name | files | documents | tokens | never used | licence | source |", "|---" * 7 + "|")
        for c in manifest.corpora:
            documents = f"{c.documents:,}" + (f" drawn of {c.drawn.documents:,}" if c.drawn else "")
            yield (
                f"| {in_markdown(c.name)} | {c.files} | {documents} | {c.tokens:,} | {100 * c.share_left_out:.1f} % "
                f"| {in_markdown(c.license)} | {in_markdown(c.source)} |"
            )
        yield ""
    if manifest.notes:
        yield from ("## Worth knowing", "", *(f"- {paragraph_in_markdown(note)}" for note in manifest.notes), "")
    yield _rest(recipe, dataset)


def _opening(recipe: Recipe, manifest: Manifest, cells: Cells) -> str:
    """What the dataset is, in two sentences."""
    asked = [cell for cell in cells if cell[2] is None]
    depths, lengths = {cell[1] for cell in asked} - {None}, {cell[0] for cell in asked} - {0}
    axes = [
        f"{len(values)} {name}{'s' * (len(values) > 1)}"
        for values, name in ((depths, "depth"), (lengths, "length"))
        if values
    ]
    count, at = f"{manifest.rows:,}", f" at {' and '.join(axes)}" if axes else ""
    if {part.task for part in recipe.parts} == {"perplexity"}:
        return (
            f"{count} windows of documents{at}, whose log-probabilities are asked for, with the span of each that is "
            "scored. Made with niah; compute the log-probabilities with any inference stack and join them by `id`."
        )
    return (
        f"{count} long-context retrieval prompts: facts (needles) hidden in filler text (haystacks){at}, with the "
        "question, the accepted answers, and where each needle stands. Made with niah; answer the prompts with any "
        "inference stack and join the answers by `id`."
    )


def _of_parts(
    recipe: Recipe, parts: Sequence[PartEntry], needles: Collection[tuple[str | None, str | None]], corpora: bool
) -> tuple[list[str], list[str]]:
    """What rows are made of, as table lines: what all parts share, and what differs between them."""
    rows = {entry.name: entry.rows for entry in parts}
    fields: dict[str, Callable[[Part], str]] = {
        "rows, with controls": lambda part: f"{rows[part.name]:,}" if part.name in rows else "",
        "weight": lambda part: f"{part.weight:g}" if part.name else "",
        "task": lambda part: part.task,
        "placement": lambda part: f"{part.placement}, needles at {part.boundary} boundaries" if corpora else "",
        "template": lambda part: (
            f"{part.template}, question at {POSITIONS[part.question_position]}"
            + (", system message of the recipe" if part.system else "")
        ),
        "lengths (tokens)": lambda part: _listed(part.lengths) if any(part.lengths) else "none: contexts are whole",
        "depths (percent)": lambda part: _listed(part.depths),
        "repeats": lambda part: str(part.repeats),
        "needles": lambda part: _named([needle.id for needle in part.needles if (part.name, needle.id) in needles]),
        "needles in a cell": lambda part: str(part.needles_per_cell or ""),
        "options": lambda part: ", ".join(f"{name} = {value}" for name, value in sorted(part.options.items())),
        "controls": lambda part: ", ".join(part.controls),
    }
    values = {name: [in_markdown(of(part)) for part in recipe.parts] for name, of in fields.items()}
    shared = [f"| {name} | {same[0]} |" for name, same in values.items() if len(set(same)) == 1 and same[0]]
    own = {name: differing for name, differing in values.items() if len(set(differing)) > 1}
    if not recipe.has_parts:
        return shared, []
    lines = ["## Parts", "", f"| part | {' | '.join(own)} |", "|---" * (1 + len(own)) + "|"]
    for part, *of_part in zip(recipe.parts, *own.values(), strict=True):
        lines.append(f"| {in_markdown(part.name or '')} | {' | '.join(of_part)} |")
    return shared, [*lines, ""]


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f", ... ({len(names)})" if len(names) > _NAMED else "")


def _listed(values: Sequence[float]) -> str:
    shown = [f"{value:g}" if value < 1000 else f"{value:.0f}" for value in values]
    return ", ".join(shown) if len(shown) <= _MOST_VALUES else f"{', '.join(shown[:3])}, ... {shown[-1]} ({len(shown)})"


def _controls(cells: Cells) -> Iterator[str]:
    """What the rows of each control show, and how many there are."""
    rows = Counter[str]()
    for (_, _, control, _, _), count in cells.items():
        rows.update({control: count} if control is not None else {})
    if rows:
        yield from ("Controls are twins of rows that show what needs no reading. They are in no score.", "")
        yield from ("| control | rows | what it shows |", "|---|---|---|")
        for name, count in sorted(rows.items()):
            yield f"| {in_markdown(name)} | {count:,} | {_CONTROLS.get(name, '')} |"
        yield ""


def _floors(recipe: Recipe, cells: Cells, languages: int) -> Iterator[str]:
    """What answers get that ignore the question, and which differences the rows tell apart; nothing without worlds."""
    worlds = {part.name: part for part in recipe.parts if part.has_worlds}
    if not worlds:
        return
    varied = any(part.options.get("empty") for part in worlds.values())
    yield from ("## What chance is worth", "", _CHANCE_VARIED if varied else _CHANCE, "")
    heads = 'best answer that ignores the question | always "not stated" | best of our solvers that do not read'
    yield from (f"| part | {heads} |", "|---|---:|---:|---:|")
    for name, part in worlds.items():
        chance, not_stated = floors_of(part)
        solved = BEST_SOLVER[part.task] if part.options["level"] == 2 and not part.options.get("empty") else None
        best = "not measured" if solved is None else f"{solved:.1f}"
        yield f"| {in_markdown(name or recipe.name)} | {chance:.1f} | {not_stated:.1f} | {best} |"
    rows = Counter[tuple[str | None, int]]()
    for (length, _, control, name, _), count in cells.items():
        if control is None and name in worlds:
            rows[name, length] += count
    yield from ("", f"{difference_told(list(worlds.values()), rows, languages)}.", "")


def _grid(cells: Cells) -> Iterator[str]:
    """The number of rows by length and depth, controls left out."""
    counts = Counter[tuple[int, float | None]]()
    for (length, depth, control, _, _), rows in cells.items():
        counts.update({(length, depth): rows} if control is None else {})
    lengths = sorted({length for length, _ in counts})
    heads = [length_name(length) if length else "none" for length in lengths]
    about = "Rows by length (tokens, across) and depth of the first needle (percent, down), controls not counted:"
    yield from ("## Grid", "", about, "", f"| depth | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|")
    for depth in sorted({depth for _, depth in counts}, key=lambda depth: -1.0 if depth is None else depth):
        name = "none" if depth is None else f"{depth:.4g} %"
        yield f"| {name} | {' | '.join(str(counts[length, depth]) for length in lengths)} |"
    yield ""


def _rest(recipe: Recipe, dataset: Dataset) -> str:
    """How to load the configs, answer the prompts, score the answers and cite the dataset."""
    manifest, rows = dataset.manifest, Counter[str]()
    for file in dataset.files():
        rows[file.config] += file.rows
    lines = [f"| all (default) | {rows.total()} |", *(f"| {in_markdown(name)} | {n} |" for name, n in rows.items())]
    if any(entry.path.startswith(f"{PREVIEW}/") for entry in manifest.files):
        lines.append(f"| {PREVIEW} | some rows with their prompts cut short, to look at; not for evaluation |")
    tables = ""
    if "parquet" in dataset.formats:
        pattern = f"{PLACE}/{DATA_FORMATS['parquet']}/*/{SPLIT}-*.parquet"
        tables = (
            f"```python\nimport polars\n\nrows = polars.read_parquet({json.dumps(pattern)})\n```\n\n```sql\n"
            f"FROM '{pattern}' SELECT length, count(*) GROUP BY length;  -- DuckDB\n```\n\n"
        )
    text = Template(_REST.read_text("utf-8")).substitute(
        configs="\n".join(lines),
        config=json.dumps(next(iter(rows), "all")),
        tables=tables,
        messages='row["prompt"]' if recipe.form == "chat" else '[{"role": "user", "content": row["prompt"]}]',
        key=re.sub(r"[^A-Za-z0-9]+", "_", recipe.name),
        title=f"{recipe.name} {recipe.version}",
        digest8=manifest.digest8,
        rows=manifest.rows,
        release=re.sub(r"[^A-Za-z0-9.+-]+", " ", manifest.generator_version),
        canary=CANARY,
    )
    return text.rstrip("\n")
