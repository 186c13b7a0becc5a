"""Lists the answer formats in the order of recognition: the first that matches a file's first readable record is used.

Adding a format takes four things:

1. A `Format` in a file of this folder: its name, what it is, an example line, and three functions that say whether a
   record is of this format, which row it answers, and what was answered. Values (texts, ids, finish reasons, errors,
   prompts) are read by the functions of `fields`, which know the spellings of all stacks. Anything else that a stack
   needs from a container is an optional field of `Format`, explained there.
2. Its import and a line in FORMATS below, above every format that would match its records too: plain records match
   easily, so they come near the end.
3. An example file in tests/score/formats/examples, and its writer in tests/score/formats/test_round_trip.py, whose
   tests then write and read the format with hypothesis, compressed, and next to all others.
4. A row in both tables and an example line in docs/formats.md; a test compares them with this list.

No other module needs to know it.
"""

from __future__ import annotations

from niah_score.formats import batches, grids, harnesses, langsmith, plain
from niah_score.formats.record import Format

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        batches.OpenAIResponses(), batches.VllmBatch(), batches.OpenAIBatch(), batches.AnthropicBatch(),
        batches.VertexBatch(), batches.GeminiBatch(),
        harnesses.LmEval(), harnesses.InspectJson(), harnesses.InspectEval(), harnesses.Lighteval(),
        harnesses.OpenCompass(), harnesses.Ruler(), harnesses.Helmet(), harnesses.LongBench(),
        grids.Gkamradt(), grids.NeedleHaystack2(), langsmith.LangSmith(), langsmith.LangSmithCsv(),
        plain.Plain(), plain.Ordered(), plain.Csv(), plain.Tsv(), plain.Parquet(),
    )
}  # fmt: skip
