"""Lists the answer formats in the order of recognition: the first that matches a file's first readable record is used.

Adding a format takes four things:

1. A file in this folder with a `Format`: its name, what it is, an example line, its container, and three functions that
   say whether a record is of this format, which row it answers, and what was answered. Values (texts, ids, finish
   reasons, errors, prompts) are read by the functions of `fields`, which know the spellings of all stacks. Anything
   else that a stack needs from a container is an optional field of `Format`, explained there.
2. Its import and a line in FORMATS below, above every format that would match its records too: plain records match
   easily, so they come near the end.
3. An example file in tests/score/formats/examples, and its writer in tests/score/formats/test_round_trip.py, whose
   tests then write and read the format with hypothesis, compressed, and next to all others.
4. A row in both tables and an example line in docs/formats.md; a test compares them with this list.

No other module needs to know it.
"""

from __future__ import annotations

from niah_score.formats.anthropic_batch import ANTHROPIC_BATCH
from niah_score.formats.gemini_batch import GEMINI_BATCH, VERTEX_BATCH
from niah_score.formats.gkamradt import GKAMRADT
from niah_score.formats.helmet import HELMET
from niah_score.formats.inspect_ai import INSPECT_EVAL, INSPECT_JSON
from niah_score.formats.langsmith import LANGSMITH, LANGSMITH_CSV
from niah_score.formats.lighteval import LIGHTEVAL
from niah_score.formats.lm_eval import LM_EVAL
from niah_score.formats.longbench import LONGBENCH
from niah_score.formats.needlehaystack2 import NEEDLEHAYSTACK2
from niah_score.formats.openai_batch import OPENAI_BATCH, OPENAI_RESPONSES, VLLM_BATCH
from niah_score.formats.opencompass import OPENCOMPASS
from niah_score.formats.plain import CSV, ORDERED, PARQUET, PLAIN, TSV
from niah_score.formats.record import Format
from niah_score.formats.ruler import RULER

FORMATS: dict[str, Format] = {
    "openai-responses": OPENAI_RESPONSES,
    "vllm-batch": VLLM_BATCH,
    "openai-batch": OPENAI_BATCH,
    "anthropic-batch": ANTHROPIC_BATCH,
    "vertex-batch": VERTEX_BATCH,
    "gemini-batch": GEMINI_BATCH,
    "lm-eval": LM_EVAL,
    "inspect-json": INSPECT_JSON,
    "inspect-eval": INSPECT_EVAL,
    "lighteval": LIGHTEVAL,
    "opencompass": OPENCOMPASS,
    "ruler": RULER,
    "helmet": HELMET,
    "longbench": LONGBENCH,
    "gkamradt": GKAMRADT,
    "needlehaystack2": NEEDLEHAYSTACK2,
    "langsmith": LANGSMITH,
    "langsmith-csv": LANGSMITH_CSV,
    "plain": PLAIN,
    "ordered": ORDERED,
    "csv": CSV,
    "tsv": TSV,
    "parquet": PARQUET,
}
