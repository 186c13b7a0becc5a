"""Holds RULER's prompt templates, answer prefixes and model templates as published (NVIDIA/RULER, Apache-2.0)."""

from __future__ import annotations

from typing import NamedTuple


class TaskTemplate(NamedTuple):
    """The template of a generator and its answer prefix, which follows the model template."""

    prompt: str
    prefix: str


NIAH = TaskTemplate(
    "Some special magic {type_needle_v} are hidden within the following text. Make sure to memorize it. I will quiz "
    "you about the {type_needle_v} afterwards.\n{context}\n"
    "What are all the special magic {type_needle_v} for {query} mentioned in the provided text?",
    " The special magic {type_needle_v} for {query} mentioned in the provided text are",
)
VARIABLE_TRACKING = TaskTemplate(
    "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n{context}\n"
    "Question: Find all variables that are assigned the value {query} in the text above.",
    " Answer: According to the chain(s) of variable assignment in the text above, {num_v} variables are assigned the "
    "value {query}, they are: ",
)
COMMON_WORDS = TaskTemplate(
    "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that "
    "appear most often.\n{context}\nQuestion: What are the 10 most common words in the above list?",
    " Answer: The top 10 words that appear most often in the list are:",
)
CODED_WORDS = TaskTemplate(
    "Read the following coded text and track the frequency of each coded word. Find the three most frequently appeared "
    "coded words. {context}\n"
    "Question: Do not provide any explanation. Please ignore the dots '....'. What are the three most frequently "
    "appeared words in the above coded text?",
    " Answer: According to the coded text above, the three most frequently appeared words are:",
)
QUESTIONS = TaskTemplate(
    "Answer the question based on the given documents. Only give me the answer and do not output any other words.\n\n"
    "The following are given documents.\n\n{context}\n\n"
    "Answer the question based on the given documents. Only give me the answer and do not output any other words.\n\n"
    "Question: {query}",
    " Answer:",
)

_TASK = "{task_template}"
MODEL_TEMPLATES = {
    "base": _TASK,
    "meta-chat": f"[INST] {_TASK} [/INST]",
    "vicuna-chat": (
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        f"detailed, and polite answers to the user's questions. USER: {_TASK} ASSISTANT:"
    ),
    "lwm-chat": f"You are a helpful assistant. USER: {_TASK} ASSISTANT: ",
    "command-r-chat": (
        f"<BOS_TOKEN><|START_OF_TURN_TOKEN|><|USER_TOKEN|>{_TASK}<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"
    ),
    "chatglm-chat": f"[gMASK]sop<|user|> \n {_TASK}<|assistant|> \n ",
    "RWKV": (
        "User: hi\n\nAssistant: Hi. I am your assistant and I will provide expert full response in full details. "
        f"Please feel free to ask any question and I will always answer it\n\nUser: {_TASK}\n\nAssistant:"
    ),
    "Phi3": f"<|user|>\n{_TASK}<|end|>\n<|assistant|>\n",
    "meta-llama3": (
        f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{_TASK}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    ),
    "jamba": f"<|startoftext|><|bom|><|system|> <|eom|><|bom|><|user|> {_TASK}<|eom|><|bom|><|assistant|>",
    "nemotron5-instruct": f"<SPECIAL_10>System\n\n<SPECIAL_11>User\n{_TASK}\n<SPECIAL_11>Assistant\n",
}


class Frames(NamedTuple):
    """A template with its fields filled in: the text around its context, the answer prefix, and the question."""

    before: str
    after: str
    prefix: str
    question: str


def filled(template: TaskTemplate, model_template: str, *, singular: bool = False, **fields: str) -> Frames:
    """A template inside a model template, with all fields but the context filled in.

    `singular`: reword both templates for a single answer, as RULER's niah does.
    """
    texts = [template.prompt, template.prefix, MODEL_TEMPLATES[model_template]]
    if singular:
        for plural, one in (("Some", "A"), ("are all", "is"), ("are", "is"), ("answers", "answer")):
            texts = [text.replace(plural, one) for text in texts]
    # The context stays out, so that nothing in it can be mistaken for a field.
    parts = [*texts[0].split("{context}"), texts[1]]
    for name, value in fields.items():
        parts = [part.replace(f"{{{name}}}", value) for part in parts]
    before, after, prefix = parts
    first, last = texts[2].split(_TASK)
    question = after.rpartition("\n")[2].removeprefix("Question: ")
    return Frames(first + before, after + last, prefix, question)
