"""Writes the text of a dataset card: what the rows are, what solves them, and how to load, run, score and cite them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from niah_gen.dataset.word_overlap import WordOverlap, stated
from niah_gen.prompts.templates import POSITIONS
from niah_gen.recipe.recipe import Part, Recipe
from niah_score.contract import DATA_FORMATS, SPLIT, CorpusEntry, Manifest, PartEntry, PromptForm, length_name
from niah_score.text.markdown import in_markdown, paragraph_in_markdown

# The most needles that a card names.
_NAMED = 12
# The most lengths and depths that the grid shows; beyond these, neighbours are shown as one.
_MOST_LENGTHS, _MOST_DEPTHS = 10, 12
_SHADES = "░▒▓█"

# In every card, beside the bundled corpora and in the needle library: filtering training data by it drops them all, and
# a model that completes it has seen one of them.
CANARY = "niah test data, keep out of training: canary a248c353-a044-4beb-b0e0-9ec841b406e5"

_CONTROLS = {
    "no_context": "the question alone: what is answered here is guessed or known, not read (guess rate)",
    "absent": 'the needle is left out: an answer that is not "not stated" is made up (false-answer rate)',
    "literal": "the question in the needle's own words: a model that fails here has not read the text",
    "conflict": "a second text says otherwise: the answer should name both (one-sided rate)",
}

# Stands for the dataset's location until that is known.
PLACE = "THIS_FOLDER"

_RUN_VLLM = """
import json
from vllm import LLM, SamplingParams

settings = [SamplingParams(temperature=0, max_tokens=row["max_new_tokens"]) for row in rows]
outputs = LLM("MODEL").chat([{messages} for row in rows], settings)
with open("answers.jsonl", "w", encoding="utf-8") as file:
    for row, output in zip(rows, outputs, strict=True):
        file.write(json.dumps({"id": row["id"], "prediction": output.outputs[0].text}) + "\\n")
"""
_RUN_SERVER = """
import json
from openai import OpenAI

client = OpenAI(base_url="http://localhost:8000/v1", api_key="none")
with open("answers.jsonl", "w", encoding="utf-8") as file:
    for row in rows:
        answer = client.chat.completions.create(
            model="MODEL", messages={messages}, temperature=0, max_tokens=row["max_new_tokens"]
        ).choices[0]
        record = {"id": row["id"], "prediction": answer.message.content, "finish_reason": answer.finish_reason}
        file.write(json.dumps(record) + "\\n")
"""
_RUN_BATCH = f"""
niah-gen export {PLACE} --to openai-batch --model MODEL --out batch
"""


# Sorts rows without a depth before all depths.
_NO_DEPTH = -1.0


class CellRows(NamedTuple):
    """How many rows have a length (tokens; 0 for none), a depth (percent; None for none) and a control or None."""

    length: int
    depth: float | None
    control: str | None
    rows: int


class CardFacts(NamedTuple):
    """What a card says about the rows: their number by config and by cell, their formats, the preview's config.

    `needles`: all pairs of the name of a part and the needle_id of one of its rows.
    """

    configs: Mapping[str, int]
    cells: tuple[CellRows, ...]
    needles: frozenset[tuple[str | None, str | None]]
    formats: tuple[str, ...]
    preview: str | None


def _opening(recipe: Recipe, facts: CardFacts) -> str:
    """What the dataset is, in two sentences."""
    count, axes = f"{sum(facts.configs.values()):,}", _axes(facts.cells)
    if {part.task for part in recipe.parts} == {"perplexity"}:
        return (
            f"{count} windows of documents{axes}, whose log-probabilities are asked for, with the span of each that is "
            "scored. Made with niah; compute the log-probabilities with any inference stack and join them by `id`."
        )
    return (
        f"{count} long-context retrieval prompts: facts (needles) hidden in filler text (haystacks){axes}, with the "
        "question, the accepted answers, and where each needle stands. Made with niah; answer the prompts with any "
        "inference stack and join the answers by `id`."
    )


def card_text(recipe: Recipe, manifest: Manifest, facts: CardFacts, overlap: Sequence[WordOverlap]) -> str:
    """The Markdown below the card's YAML."""
    corpora, notes, tokenizer = manifest.corpora, manifest.notes, manifest.tokenizer
    shared, of_parts = _of_parts(recipe, manifest.parts, facts.needles, bool(corpora))
    full_name = f"{recipe.name}/{recipe.version}-{manifest.digest8}"
    lines = [
        f"# {in_markdown(recipe.name)} {in_markdown(recipe.version)}",
        "",
        _opening(recipe, facts),
        "",
        "| | |",
        "|---|---|",
        f"| dataset | {in_markdown(full_name)} |",
        f"| rows | sha256 {in_markdown(manifest.content_digest)} over all columns of all rows |",
        f"| tokenizer | {in_markdown(tokenizer.name)} (sha256 {in_markdown(tokenizer.sha256)}) |",
        f"| prompts | {'messages of a chat' if recipe.form == 'chat' else 'one text'} |",
        *shared,
        "",
    ]
    if of_parts:
        lines += ["## Parts", "", *of_parts]
    lines += _controls(facts.cells)
    if overlap:
        lines += ["## Solvable by word overlap", "", *stated(overlap)]
    lines += ["## Grid", "", *_grid(facts.cells)]
    if corpora:
        lines += [
            "## Corpora",
            "",
            "Haystacks are cut from these texts, and their licences hold for the prompts.",
            "",
            "| name | files | documents | tokens | never used | licence | source |",
            "|---|---|---|---|---|---|---|",
            *[
                f"| {in_markdown(c.name)} | {c.files} | {_documents(c)} | {c.tokens:,} "
                f"| {100 * c.share_left_out:.1f} % | {in_markdown(c.license)} | {in_markdown(c.source)} |"
                for c in corpora
            ],
            "",
        ]
    if notes:
        lines += ["## Worth knowing", "", *[f"- {paragraph_in_markdown(note)}" for note in notes], ""]
    lines += [*_load(facts), *_run(recipe.form), *_cite(recipe, manifest)]
    return "\n".join(lines)


def _documents(corpus: CorpusEntry) -> str:
    """How many documents were read, and of how many."""
    return f"{corpus.documents:,}" + (f" drawn of {corpus.drawn.documents:,}" if corpus.drawn else "")


def _axes(cells: Sequence[CellRows]) -> str:
    """The number of depths and lengths of rows other than controls; an axis without values is left out."""
    asked = [cell for cell in cells if cell.control is None]
    depths = len({cell.depth for cell in asked if cell.depth is not None})
    lengths = len({cell.length for cell in asked if cell.length})
    axes = [f"{count} {name}{'s' * (count > 1)}" for count, name in ((depths, "depth"), (lengths, "length")) if count]
    return f" at {' and '.join(axes)}" if axes else ""


def _controls(cells: Sequence[CellRows]) -> list[str]:
    """What the rows of each control show, and how many there are."""
    rows: dict[str, int] = {}
    for cell in cells:
        if cell.control is not None:
            rows[cell.control] = rows.get(cell.control, 0) + cell.rows
    if not rows:
        return []
    table = [f"| {in_markdown(name)} | {count:,} | {_CONTROLS.get(name, '')} |" for name, count in sorted(rows.items())]
    return [
        "Controls are twins of rows that show what needs no reading. They are in no score.",
        "",
        "| control | rows | what it shows |",
        "|---|---|---|",
        *table,
        "",
    ]


def _grid(cells: Sequence[CellRows]) -> list[str]:
    """The number of rows by length and depth, controls left out, as text: the Hub strips inline drawings from cards."""
    counts: dict[tuple[float, float], int] = {}
    for cell in cells:
        if cell.control is None:
            place = cell.length, _NO_DEPTH if cell.depth is None else cell.depth
            counts[place] = counts.get(place, 0) + cell.rows
    lengths = _bands(sorted({length for length, _ in counts}), _MOST_LENGTHS)
    depths = _bands(sorted({depth for _, depth in counts}), _MOST_DEPTHS)
    rows = [[sum(counts.get((x, y), 0) for x in length for y in depth) for length in lengths] for depth in depths]
    most = max((count for row in rows for count in row), default=0)
    heads = [_span([length_name(int(length)) if length else "none" for length in band]) for band in lengths]
    names = [_depths_name(band) for band in depths]
    drawn = [[f"{_shade(count, most)} {count}" for count in row] for row in rows]
    wide = [max(map(len, column)) for column in zip(heads, *drawn, strict=True)]
    first = max(map(len, ["depth", *names]))
    lines = [
        "  ".join([name.rjust(first), *(cell.rjust(width) for cell, width in zip(row, wide, strict=True))])
        for name, row in zip(["depth", *names], [heads, *drawn], strict=True)
    ]
    about = "Rows by length (tokens, across) and depth of the first needle (percent, down), controls not counted:"
    return [about, "", "```text", *lines, "```", ""]


def _depths_name(depths: Sequence[float]) -> str:
    """The label of a line of the grid; rows without a depth come first."""
    asked = [f"{depth:.4g}" for depth in depths if depth != _NO_DEPTH]
    return ", ".join(["none"] * (len(asked) < len(depths)) + ([f"{_span(asked)} %"] if asked else []))


def _bands(values: Sequence[float], most: int) -> list[Sequence[float]]:
    """Ascending values in at most `most` groups of neighbours of about equal size."""
    count = min(len(values), most)
    edges = [len(values) * number // count for number in range(count + 1)] if count else [0]
    return [values[start:end] for start, end in itertools.pairwise(edges)]


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"


def _shade(count: int, most: int) -> str:
    return "·" if not count else _SHADES[min(len(_SHADES) - 1, count * len(_SHADES) // most)] * 2


def _load(facts: CardFacts) -> Iterator[str]:
    """The configs, and how to load them."""
    suffix = facts.formats[0] if facts.formats else "parquet"
    pattern = f"{DATA_FORMATS.get(suffix, suffix)}/*/{SPLIT}-*.{suffix}"
    one = next(iter(facts.configs), "all")
    yield from ("## Load", "", "| config | rows |", "|---|---|")
    yield f"| all (default) | {sum(facts.configs.values())} |"
    yield from (f"| {in_markdown(name)} | {rows} |" for name, rows in facts.configs.items())
    if facts.preview:
        yield f"| {facts.preview} | some rows with their prompts cut short, to look at; not for evaluation |"
    yield from ("", "```python", "from datasets import load_dataset", "")
    yield f'rows = load_dataset("{PLACE}", split="{SPLIT}")'
    yield f'rows = load_dataset("{PLACE}", {_literal(one)}, split="{SPLIT}")'
    yield f'rows = load_dataset("{PLACE}", split="{SPLIT}", streaming=True)'
    yield from ("```", "")
    if suffix == "parquet":
        yield from ("```python", "import polars", "")
        yield f"rows = polars.read_parquet({_literal(f'{PLACE}/{pattern}')})"
        yield from ("```", "", "```sql")
        yield f"FROM '{PLACE}/{pattern}' SELECT length, count(*) GROUP BY length;  -- DuckDB"
        yield from ("```", "")


def _literal(text: str) -> str:
    """A text as a Python string literal, whatever it contains."""
    return json.dumps(text)


def _run(form: PromptForm) -> Iterator[str]:
    """How to answer the prompts in three stacks, and how to score the answers."""
    messages = 'row["prompt"]' if form == "chat" else '[{"role": "user", "content": row["prompt"]}]'
    yield from ("## Run", "", "Any stack will do that keeps the `id` beside the answer. vLLM:", "", "```python")
    yield from (*_RUN_VLLM.strip().replace("{messages}", messages).splitlines(), "```", "")
    yield from ("A server with the OpenAI API (vLLM, SGLang, llama.cpp, LMDeploy, Ollama):", "", "```python")
    yield from (*_RUN_SERVER.strip().replace("{messages}", messages).splitlines(), "```", "")
    yield from ("A batch service, whose answers are scored as they come:", "", "```sh")
    yield from (*_RUN_BATCH.strip().splitlines(), "```", "")
    yield from ("## Score", "", "```sh", "pip install niah-kit")
    yield from (f"niah-score score {PLACE} answers.jsonl --model MODEL", "```", "")


def _cite(recipe: Recipe, manifest: Manifest) -> Iterator[str]:
    name = re.sub(r"[^A-Za-z0-9]+", "_", recipe.name)
    yield from ("## Cite", "", "```bibtex", f"@misc{{{name}_{manifest.digest8},")
    yield f"  title = {{{{{recipe.name} {recipe.version}: needle-in-a-haystack prompts}}}},"
    yield "  author = {{The niah maintainers}},"
    made = f"made with niah-kit {re.sub(r'[^A-Za-z0-9.+-]+', ' ', manifest.generator_version)}"
    yield f"  note = {{Dataset {manifest.digest8}, {manifest.rows} rows, {made}}}"
    yield from ("}", "```", "", "## For evaluation only", "")
    yield from ("Please keep these prompts out of training data. To filter by:", "", f"    {CANARY}", "")


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
            f"{part.template}, question at {POSITIONS[part.question_position].words}"
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
    lines = [f"| part | {' | '.join(own)} |", "|---" * (1 + len(own)) + "|"]
    for number, part in enumerate(recipe.parts):
        lines.append(f"| {in_markdown(part.name or '')} | {' | '.join(cells[number] for cells in own.values())} |")
    return shared, [*lines, ""]


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown}, ... ({len(names)})"


def _listed(values: Sequence[float]) -> str:
    shown = [f"{value:g}" if value < 1000 else f"{value:.0f}" for value in values]
    return ", ".join(shown) if len(shown) <= 24 else f"{', '.join(shown[:3])}, ... {shown[-1]} ({len(shown)})"
