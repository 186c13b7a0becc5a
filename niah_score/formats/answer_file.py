"""Opens an answer file and reads its answers; lists the formats in the order of recognition.

The first format that matches a file's first readable record is used.

Adding a format takes four things:

1. A `Format` in a file of this folder: its name, what it is, and three methods that say whether a
   record is of this format, which row it answers, and what was answered. Values (texts, ids, finish reasons, errors,
   prompts) are read by the functions of `fields`, which know the spellings of all stacks. Anything else that a stack
   needs from a container is an optional attribute or method of `Format`, explained there.
2. Its place in FORMATS below, above every format that would match its records too: plain records match easily, so they
   come near the end.
3. An example file in tests/score/formats/examples, which tests/score/formats/test_round_trip.py then reads, also
   compressed, and with other ids and texts by hypothesis.
4. A row in both tables and an example line in docs/formats.md, and the same line in example_lines.txt; a test compares
   them with this list.

No other module needs to know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from niah_score.formats import batches, harnesses, langsmith, plain
from niah_score.formats.containers import read
from niah_score.formats.record import Answer, FieldNames, Format, Malformed, NoAnswersError
from niah_score.formats.streams import opened

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        batches.OpenAIResponses(), batches.VllmBatch(), batches.OpenAIBatch(), batches.AnthropicBatch(),
        batches.VertexBatch(), batches.GeminiBatch(),
        harnesses.LmEval(), harnesses.InspectJson(), harnesses.InspectEval(), harnesses.Lighteval(),
        harnesses.OpenCompass(), harnesses.Ruler(), harnesses.ScBench(), harnesses.Helmet(), harnesses.LongBench(),
        harnesses.Gkamradt(), harnesses.NeedleHaystack2(), langsmith.LangSmith(), langsmith.LangSmithCsv(),
        plain.Plain(), plain.Ordered(), plain.Csv(), plain.Tsv(), plain.Parquet(),
    )
}  # fmt: skip


def example_lines() -> dict[str, str]:
    """An example line of each format, by its name."""
    text = Path(__file__).with_name("example_lines.txt").read_text("utf-8")
    return dict(line.split(maxsplit=1) for line in text.splitlines())


class AnswerFile:
    """One file of answers. Each iteration opens it and reads it in order, keeping as little in memory as possible.

    `name`: its path. `format`: the name of its format; empty until reading has started.
    """

    def __init__(self, path: Path, names: FieldNames) -> None:
        self.name, self.format, self._names = path, "", names

    def __iter__(self) -> Iterator[Answer | Malformed]:
        """Its records. Raises ScoreError if the file cannot be read to its end; NoAnswersError if it holds none."""
        with opened(self.name) as source:
            form, records = read(source, list(FORMATS.values()), self._names)
            self.format = form.name
            first = next(records, None)
            if first is None:
                raise NoAnswersError(self.name, "no predictions in it; was the run finished?")
            yield first
            yield from records


def read_answers(path: str | Path, *, id_field: str | None = None, text_field: str | None = None) -> AnswerFile:
    """A file of answers to iterate over, also several times.

    id_field, text_field: dotted paths that override the format's own fields.
    """
    return AnswerFile(Path(path), FieldNames(id_field, text_field))
