"""Tests that filler of the room that is left never makes a prompt exceed its budget."""

from __future__ import annotations

import random

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.haystacks.haystack import SEAM, room_for_filler
from niah_gen.prompts.frame import make_frame
from niah_gen.prompts.templates import template_for
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tokenizers.find import find_tokenizer

_MARKS = [*" \n\t.,;:!?()[]{}\"'/-–—…“”‘’。《》！（）：；？0123456789aZéжの文", "e\u0301", "\n\n", "..."]


def test_filler_of_the_room_that_is_left_fits_with_needles_anywhere() -> None:
    draw = random.Random(7)
    for name, corpus in (("cl100k_base", "en_essays"), ("o200k_base", "zh_articles")):
        tokenizer, found = find_tokenizer(name), read_corpus(locate(corpus))
        language, joiner = found.language, joiner_of(found.language)
        library = [needle.needles[0].strip() for needle in needle_library().values() if needle.language == language]
        template = template_for("niah", language)
        assert template is not None
        frame = make_frame(template, "text", "native", False, "What?")
        for document in draw.sample(found.documents, 40):
            filler = document.text.strip()
            ends = sentence_ends(filler, language)
            needles = [*draw.sample(library, 2), "".join(draw.choices(_MARKS, k=12)).strip() or "x"]
            room = room_for_filler(0, 0, frame, needles, joiner, tokenizer)
            text = filler
            for at, needle in zip(sorted(draw.choices(ends, k=3), reverse=True), needles, strict=True):
                text = text[:at] + joiner + needle + text[at:]
            tokens = tokenizer.count(frame.before + text + frame.after)
            assert -room - 8 * SEAM <= tokens - tokenizer.count(filler) <= -room
