"""Finds tokenizers by name or path; they encode plain text exactly, without a network.

cl100k_base and o200k_base are bundled and checked by sha256. tiktoken's other encodings come from its own cache or
download. A Hugging Face `tokenizer.json`, a SentencePiece `.model`, or a folder holding either is found by its path, or
by its name in the folders of `$NIAH_TOKENIZERS`. Text that looks like a special token is always plain text.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from niah_gen.errors import IntegrityError, TokenizerError, suggestion

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

Ints = npt.NDArray[np.int64]

_FOLDER = Path(__file__).parents[1] / "library" / "vocabularies"

TOKENIZERS_VARIABLE = "NIAH_TOKENIZERS"
# The names of a vocabulary in a model's folder.
VOCABULARY_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model")


class Tokens(NamedTuple):
    """A text's tokens: their ids, and the UTF-8 byte offset at which each one ends."""

    ids: Ints
    ends: Ints


class Tokenizer(Protocol):
    """What the generator needs of a tokenizer.

    `local` promises that a text may be encoded in parts at the cuts that `safe_cuts` finds.
    """

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def local(self) -> bool: ...
    def encode(self, text: str) -> Tokens: ...
    def count(self, text: str) -> int: ...
    def __hash__(self) -> int: ...


class _Bundled(NamedTuple):
    """A rank file in the package; the sha256 is the one that tiktoken pins for the uncompressed file."""

    file: str
    sha256: str
    pattern: str


_CL100K = _Bundled(
    "cl100k_base.tiktoken.gz",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
)
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = _Bundled(
    "o200k_base.tiktoken.gz",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "|".join(
        [
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _CONTRACTIONS,
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _CONTRACTIONS,
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
)
# o200k_harmony differs from o200k_base in special tokens only, and those are plain text here.
BUNDLED = {"cl100k_base": _CL100K, "o200k_base": _O200K, "o200k_harmony": _O200K}

# tiktoken's regular expression engine overflows its stack on runs of about a million white space characters
# (openai/tiktoken#15), which would end the process.
_LONG_RUN = re.compile(r"\s{500001}")
_SHORT = 1000


class BytePairTokenizer:
    """One of tiktoken's encodings."""

    local = True

    def __init__(self, encoding: tiktoken.Encoding, sha256: str) -> None:
        self.name = encoding.name
        self.sha256 = sha256
        self.encoding = encoding
        ranks = encoding._mergeable_ranks
        self._lengths = np.zeros(encoding.n_vocab, dtype=np.int64)
        self._lengths[np.fromiter(ranks.values(), np.int64, len(ranks))] = np.fromiter(
            map(len, ranks), np.int64, len(ranks)
        )

    def _ids(self, text: str) -> Ints:
        if _LONG_RUN.search(text):
            raise TokenizerError("a text has more than 500,000 white space characters in a row; shorten that run")
        return self.encoding.encode_to_numpy(text, disallowed_special=()).astype(np.int64)

    def encode(self, text: str) -> Tokens:
        """Ids and byte ends of a text's tokens. The text must have no lone surrogates."""
        # For short texts tiktoken returns a list faster than an array, for long texts slower.
        short = len(text) < _SHORT
        ids = np.array(self.encoding.encode_ordinary(text), dtype=np.int64) if short else self._ids(text)
        return Tokens(ids, self._lengths[ids].cumsum())

    def count(self, text: str) -> int:
        """Number of tokens."""
        return len(self.encoding.encode_ordinary(text)) if len(text) < _SHORT else len(self._ids(text))


class OffsetTokenizer:
    """A tokenizer that gives the character offset at which each token ends: tokenizer.json, SentencePiece.

    A token that ends inside a character is taken to end with it.
    """

    local = False

    def __init__(
        self, name: str, path: Path, encode: Callable[[str], tuple[list[int], list[int]]], count: Callable[[str], int]
    ) -> None:
        self.name = name
        self.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self._encode = encode
        self.count = count

    def encode(self, text: str) -> Tokens:
        """Ids and byte ends of a text's tokens."""
        ids, char_ends = self._encode(text)
        widths = np.array([len(char.encode()) for char in text], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(widths)])
        ends = np.maximum.accumulate(starts[np.array(char_ends, dtype=np.int64)]) if char_ends else starts[:0]
        # White space that the tokenizer drops at the end of a text belongs to the last token.
        ends[-1:] = starts[-1]
        return Tokens(np.array(ids, dtype=np.int64), ends)


def find_tokenizer(spec: str, name: str | None = None) -> Tokenizer:
    """The tokenizer with a name or path; one from a file is called `name`, if that is given.

    `spec`: a tiktoken encoding or model name, the path of a tokenizer.json, a .model file or a folder holding one, or a
    name to look up in the folders of `$NIAH_TOKENIZERS`. Raises TokenizerError, or IntegrityError for damaged ranks.
    """
    encoding = encoding_name(spec)
    if encoding is not None:
        return _bundled(encoding) if encoding in BUNDLED else _from_tiktoken(encoding)
    own_name, path = tokenizer_path(spec)
    return (_sentencepiece if path.suffix == ".model" else _hugging_face)(name or own_name, path)


def encoding_name(spec: str) -> str | None:
    """The tiktoken encoding of an encoding or model name; None if it is neither."""
    if spec in BUNDLED:
        return spec
    if "/" in spec or "\\" in spec:
        return None  # a path; tiktoken matches models by prefix and would take gpt-5/tokenizer.json for one
    import tiktoken
    import tiktoken.model

    if spec in tiktoken.list_encoding_names():
        return spec
    try:
        return tiktoken.model.encoding_name_for_model(spec)
    except KeyError:
        return None


def bundled_ranks(name: str) -> bytes:
    """The published rank file of a bundled encoding. Raises IntegrityError for a damaged package."""
    bundled = BUNDLED[name]
    source = _FOLDER / bundled.file
    try:
        data = gzip.decompress(source.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise IntegrityError(f"{source}: cannot be unpacked ({error}); reinstall niah-kit") from None
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != bundled.sha256:
        raise IntegrityError(f"{source}: sha256 is {sha256}, expected {bundled.sha256}; reinstall niah-kit")
    return data


@lru_cache(maxsize=4)
def _bundled(name: str) -> BytePairTokenizer:
    import tiktoken

    bundled = BUNDLED[name]
    # The sha256 proves that this is the published file: one token per line, in the order of the ranks from 0.
    tokens = bundled_ranks(name).split()[::2]
    ranks = dict(zip(map(binascii.a2b_base64, tokens), range(len(tokens)), strict=True))
    # tiktoken needs at least one special token; here its text is always plain text.
    encoding = tiktoken.Encoding(
        name, pat_str=bundled.pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks) + 1000}
    )
    return BytePairTokenizer(encoding, bundled.sha256)


@lru_cache(maxsize=4)
def _from_tiktoken(name: str) -> BytePairTokenizer:
    import tiktoken

    try:
        encoding = tiktoken.get_encoding(name)
    # requests raises its own errors, and tiktoken ValueError for a bad hash: all mean "no vocabulary".
    except Exception as error:  # noqa: BLE001
        raise TokenizerError(
            f"tokenizer {name!r}: its vocabulary is not bundled, not in tiktoken's cache, and could not be downloaded "
            f"({type(error).__name__}); on a machine with network run "
            f"`TIKTOKEN_CACHE_DIR=DIR python -c 'import tiktoken; tiktoken.get_encoding(\"{name}\")'`, "
            "copy DIR here and set TIKTOKEN_CACHE_DIR, or use cl100k_base or o200k_base, which are bundled"
        ) from None
    lines = sorted((rank, token) for token, rank in encoding._mergeable_ranks.items())
    published = b"".join(b"%s %d\n" % (binascii.b2a_base64(token, newline=False), rank) for rank, token in lines)
    return BytePairTokenizer(encoding, hashlib.sha256(published).hexdigest())


def tokenizer_path(spec: str) -> tuple[str, Path]:
    """Name and vocabulary file of a tokenizer given by path or by its name in `$NIAH_TOKENIZERS`.

    Raises TokenizerError if there is none.
    """
    try:
        name_and_path = _find_file(spec)
    except (OSError, RuntimeError, ValueError):
        name_and_path = None  # the path is too long, holds a NUL, or names a home that does not exist
    if name_and_path is not None:
        return name_and_path
    import tiktoken.model

    known = [*BUNDLED, *tiktoken.list_encoding_names(), *tiktoken.model.MODEL_TO_ENCODING]
    raise TokenizerError(
        f"tokenizer {spec[:100]!r}: not a tiktoken encoding or model, not a path, and not in ${TOKENIZERS_VARIABLE}"
        + suggestion(spec[:100], known)
    )


def _find_file(spec: str) -> tuple[str, Path] | None:
    candidates = [Path(spec).expanduser()]
    for folder in filter(None, os.environ.get(TOKENIZERS_VARIABLE, "").split(os.pathsep)):
        candidates += [Path(folder) / spec, Path(folder) / f"{spec}.json", Path(folder) / f"{spec}.model"]
    for candidate in candidates:
        if candidate.is_file():
            # Every model's folder has a tokenizer.json, so the name is that of the folder.
            file = candidate.resolve()
            in_folder = file.stem in ("tokenizer", "spiece")
            return _own_name(file.parent.name if in_folder else file.stem, file, in_folder), candidate
        for name in VOCABULARY_FILES:
            if (candidate / name).is_file():
                return _own_name(candidate.resolve().name, candidate / name, True), candidate / name
    return None


def _own_name(name: str, file: Path, in_folder: bool) -> str:
    """The name to record: one that finds the file again, even if tiktoken knows a model of that name."""
    if encoding_name(name) is None:
        return name
    return f"{name}/{file.name}" if in_folder else f"./{file.name}"


def hugging_face_model(path: Path) -> tokenizers.Tokenizer:
    """The tokenizer in a tokenizer.json, without truncation and padding. Raises TokenizerError."""
    import tokenizers

    try:
        model = tokenizers.Tokenizer.from_file(str(path))
    # The binding raises a bare Exception for a file that it cannot parse.
    except Exception as error:  # noqa: BLE001
        what = f"not a tokenizer.json ({error}); expected the Hugging Face tokenizers format"
        raise TokenizerError(f"{path}: {what}") from None
    if not model.get_vocab_size(with_added_tokens=False):
        raise TokenizerError(f"{path}: its vocabulary is empty; expected the tokenizer.json of a trained model")
    model.no_truncation()
    model.no_padding()
    return model


def _hugging_face(name: str, path: Path) -> OffsetTokenizer:
    model = hugging_face_model(path)
    model.encode_special_tokens = True

    def encoded(text: str) -> tokenizers.Encoding:
        try:
            return model.encode(text, add_special_tokens=False)
        # The binding raises a bare Exception for a text that the vocabulary does not cover.
        except Exception as error:  # noqa: BLE001
            raise TokenizerError(f"{path}: cannot encode {text[:40]!r} ({error}); use another tokenizer") from None

    def encode(text: str) -> tuple[list[int], list[int]]:
        encoding = encoded(text)
        return encoding.ids, [end for _, end in encoding.offsets]

    return OffsetTokenizer(name, path, encode, lambda text: len(encoded(text).ids))


def _sentencepiece(name: str, path: Path) -> OffsetTokenizer:
    try:
        import sentencepiece
    except ImportError:
        raise TokenizerError(f"{path}: SentencePiece models need `pip install 'niah-kit[sentencepiece]'`") from None
    try:
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise TokenizerError(f"{path}: not a SentencePiece model ({error})") from None

    def encode(text: str) -> tuple[list[int], list[int]]:
        encoding = model.encode(text, out_type="offset_mapping")
        return encoding["ids"], [end for _, end in encoding["offsets"]]

    return OffsetTokenizer(name, path, encode, lambda text: len(model.encode(text, out_type=int)))
