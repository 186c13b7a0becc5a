"""Splits English text into sentences with NLTK's punkt and its trained tables, which are read from NLTK_DATA."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from niah_gen.errors import RecipeError
from niah_score.contract import file_sha256

_FOLDER = Path("tokenizers") / "punkt_tab" / "english"
# The sha256 of the files that the published prompts were made with; other files split differently.
DIGESTS = {
    "abbrev_types.txt": "92a3e070f43d9b4c5534758ca40ad7343b04e7e29bfe0c2eb658a39445a4f779",
    "collocations.tab": "8e2da1225e4dd2cc9dba261ee231ccb134859e21b46006e7f472c5ee269af0cf",
    "ortho_context.tab": "4bbcca25ed3d3f06c02402abf8419b9f033b8adc06e7b482eca4e45f81a5dc4c",
    "sent_starters.txt": "f3f8535483e1dba487241b764945168123bca3209a9645e59acd1225dc76edac",
}


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The characters where each sentence of a text begins and ends, without the white space between sentences.

    Raises RecipeError if NLTK or its data is not on this machine.
    """
    return list(_splitter().span_tokenize(text))


@lru_cache(maxsize=1)
def _splitter() -> Any:
    try:
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    except ImportError:
        raise RecipeError(["essays are split by NLTK, which is not installed; pip install 'niah-kit[build]'"]) from None
    folder = _data()
    for name, sha256 in DIGESTS.items():
        actual = file_sha256(folder / name)
        if actual != sha256:
            raise RecipeError([f"{folder / name}: sha256 is {actual}; RULER's prompts need {sha256}"])
    parameters = PunktParameters()
    parameters.abbrev_types = set(_lines(folder / "abbrev_types.txt"))
    parameters.sent_starters = set(_lines(folder / "sent_starters.txt"))
    parameters.collocations = {
        (first, second) for first, second in (line.split("\t") for line in _lines(folder / "collocations.tab"))
    }
    contexts = (line.split("\t") for line in _lines(folder / "ortho_context.tab"))
    parameters.ortho_context.update({word: int(bits) for word, bits in contexts})
    splitter = PunktSentenceTokenizer()
    splitter._params = parameters
    return splitter


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").split("\n") if line]


def _data() -> Path:
    """The folder of punkt's English tables: below $NLTK_DATA, or where NLTK looks by default."""
    from nltk.data import path as usual

    listed = [part for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
    for base in dict.fromkeys([*listed, *usual]):
        folder = Path(base) / _FOLDER
        try:
            if all((folder / name).is_file() for name in DIGESTS):
                return folder
        except OSError:
            continue
    raise RecipeError(
        [
            f"essays are split by NLTK's punkt_tab data, which is not on this machine; add the folder that holds "
            f"{_FOLDER.as_posix()} to $NLTK_DATA, or run `python -m nltk.downloader punkt_tab`"
        ]
    )
