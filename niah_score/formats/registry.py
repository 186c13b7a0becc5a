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

from niah_score.formats.batches import (
    ANTHROPIC_BATCH,
    GEMINI_BATCH,
    OPENAI_BATCH,
    OPENAI_RESPONSES,
    VERTEX_BATCH,
    VLLM_BATCH,
)
from niah_score.formats.grids import GKAMRADT, NEEDLEHAYSTACK2
from niah_score.formats.harnesses import (
    HELMET,
    INSPECT_EVAL,
    INSPECT_JSON,
    LIGHTEVAL,
    LM_EVAL,
    LONGBENCH,
    OPENCOMPASS,
    RULER,
)
from niah_score.formats.langsmith import LANGSMITH, LANGSMITH_CSV
from niah_score.formats.plain import CSV, ORDERED, PARQUET, PLAIN, TSV
from niah_score.formats.record import Format

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        OPENAI_RESPONSES, VLLM_BATCH, OPENAI_BATCH, ANTHROPIC_BATCH, VERTEX_BATCH, GEMINI_BATCH,
        LM_EVAL, INSPECT_JSON, INSPECT_EVAL, LIGHTEVAL, OPENCOMPASS, RULER, HELMET, LONGBENCH,
        GKAMRADT, NEEDLEHAYSTACK2, LANGSMITH, LANGSMITH_CSV, PLAIN, ORDERED, CSV, TSV, PARQUET,
    )
}  # fmt: skip
