"""Lists the export formats: a new one needs a file in this folder and a line here."""

from __future__ import annotations

from niah_gen.export.anthropic import ANTHROPIC
from niah_gen.export.base import ExportFormat
from niah_gen.export.gemini import GEMINI
from niah_gen.export.inspect_tasks import INSPECT
from niah_gen.export.langsmith import LANGSMITH
from niah_gen.export.lighteval import LIGHTEVAL
from niah_gen.export.lm_eval_tasks import LM_EVAL
from niah_gen.export.loglikelihood import LOGLIKELIHOOD
from niah_gen.export.openai_batch import OPENAI_BATCH
from niah_gen.export.opencompass import OPENCOMPASS, OPENCOMPASS_LENGTH_DEPTH
from niah_gen.export.text import TEXT
from niah_gen.export.vertex import VERTEX
from niah_gen.export.vllm import VLLM

EXPORTS: dict[str, ExportFormat] = {
    "openai-batch": OPENAI_BATCH,
    "vllm": VLLM,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "vertex": VERTEX,
    "langsmith": LANGSMITH,
    "text": TEXT,
    "lm-eval": LM_EVAL,
    "inspect": INSPECT,
    "lighteval": LIGHTEVAL,
    "opencompass": OPENCOMPASS,
    "opencompass-length-depth": OPENCOMPASS_LENGTH_DEPTH,
    "loglikelihood": LOGLIKELIHOOD,
}
