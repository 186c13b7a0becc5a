"""Tokenizers are found by name or path; texts are counted as if encoded whole."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import regex
import tiktoken.load
import tiktoken.model
import tokenizers as hugging_face
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import OddText

from niah_gen.errors import IntegrityError, TokenizerError
from niah_gen.tokenizers import find as tokenizers
from niah_gen.tokenizers.counted import Counted, Edit, count, count_to, counted, edited, join, measured, part
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, Tokenizer, encoding_name, find_tokenizer
from niah_gen.tokenizers.here import fill_tiktoken_cache


@pytest.fixture
def copied_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundled vocabularies that may be damaged, read without the cache."""
    folder = tmp_path / "vocabularies"
    shutil.copytree(tokenizers._FOLDER, folder)
    monkeypatch.setattr(tokenizers, "_FOLDER", folder)
    monkeypatch.setattr(tokenizers, "_bundled", tokenizers._bundled.__wrapped__)
    return folder


def no_route(path: str) -> bytes:
    raise ConnectionError(f"no route to {path}")


# Bundled ------------------------------------------------------------------------------------------------------------


@each(
    ("name", "text", "expected"),
    [
        ("cl100k_base", "hello world", [15339, 1917]),
        ("cl100k_base", "Hello, 世界!", [9906, 11, 220, 3574, 244, 98220, 0]),
        ("o200k_base", "hello world", [24912, 2375]),
        ("o200k_base", "Hello, 世界!", [13225, 11, 185558, 0]),
    ],
)
def test_encoding_returns_the_published_ids(name: str, text: str, expected: list[int]) -> None:
    assert find_tokenizer(name).encode(text).ids.tolist() == expected


@examples(100)
@given(seed=st.integers(0, 2**32 - 1))
def test_bytes_between_two_ends_are_the_tokens(tokenizer: BytePairTokenizer, odd_text: OddText, seed: int) -> None:
    text = odd_text(random.Random(seed), 20)
    tokens = tokenizer.encode(text)
    data = text.encode()
    ends = [0, *tokens.ends.tolist()]
    pieces = [data[start:end] for start, end in pairwise(ends)]
    assert pieces == tokenizer.encoding.decode_tokens_bytes(tokens.ids.tolist())


@each("special", ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "<|start|>"])
def test_the_text_of_a_special_token_is_plain_text(tokenizer: BytePairTokenizer, special: str) -> None:
    """The ids are those of the pieces that the `regex` module finds, each merged alone, as tiktoken describes it."""
    text, encoding = f"before {special} after", tokenizer.encoding
    pieces = regex.findall(encoding._pat_str, text)
    ids = tokenizer.encode(text).ids.tolist()
    assert ids == [token for piece in pieces for token in encoding._encode_single_piece(piece)]
    assert tokenizer.count(text) == len(ids)
    assert max(ids) < len(encoding._mergeable_ranks)


def test_a_run_of_white_space_at_which_tiktoken_would_end_the_process_is_refused(cl100k: BytePairTokenizer) -> None:
    assert cl100k.count("a" + " " * 500_000 + "b") > 1000
    for space in " \u3000\n":
        with pytest.raises(TokenizerError, match="more than 500,000 white space characters in a row"):
            cl100k.encode("a" + space * 500_001 + "b")


# Names --------------------------------------------------------------------------------------------------------------


def test_unknown_names_and_impossible_paths_are_refused_with_the_nearest_name() -> None:
    for wrong, near in (("cl100k_bas", "cl100k_base"), ("o200k-base", "o200k_base"), ("gpt4", "gpt-4")):
        with pytest.raises(TokenizerError, match=rf"tokenizer '{wrong}': .*NIAH_TOKENIZERS; did you mean '{near}'\?"):
            find_tokenizer(wrong)
    for path in ("x" * 5000, "a\0b", "~no_such_user_here/tokenizer.json", "/"):
        with pytest.raises(TokenizerError):
            find_tokenizer(path)


# tiktoken's other encodings -----------------------------------------------------------------------------------------


@each("name", ["p50k_base", "r50k_base", "davinci"])
def test_the_error_for_an_unbundled_encoding_says_where_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiktoken.load, "read_file", no_route)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(TokenizerError, match=r"not bundled.*ConnectionError.*TIKTOKEN_CACHE_DIR") as caught:
        find_tokenizer(name)
    assert repr(encoding_name(name)) in str(caught.value)
    assert "cl100k_base or o200k_base" in str(caught.value)


# Damage -------------------------------------------------------------------------------------------------------------


def test_a_damaged_bundled_file_is_an_integrity_error(copied_folder: Path) -> None:
    path = copied_folder / "cl100k_base.tiktoken.gz"
    data = path.read_bytes()
    path.write_bytes(gzip.compress(gzip.decompress(data).replace(b"IQ== 0", b"IQ== 1", 1), 1))
    with pytest.raises(IntegrityError, match=r"cl100k_base\.tiktoken\.gz: sha256 is [0-9a-f]{64}, expected 223921b7"):
        find_tokenizer("gpt-4")
    for damaged in (data[:1000] + bytes([data[1000] ^ 0xFF]) + data[1001:], data[:-1000], b"", b"<html>404</html>"):
        path.write_bytes(damaged)
        with pytest.raises(IntegrityError, match="cl100k_base"):
            find_tokenizer("cl100k_base")


# tokenizer.json -----------------------------------------------------------------------------------------------------

PLAIN = "the cat sat. 上海人工智能实验室在上海。 café 😀!\n\n  two  spaces, 12345"


def test_a_tokenizer_json_is_found_by_path_and_name(tokenizer_json: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIAH_TOKENIZERS", os.pathsep.join(["/nowhere", str(tokenizer_json.parent.parent)]))
    loaded = [find_tokenizer(spec) for spec in (str(tokenizer_json), str(tokenizer_json.parent), "tiny-bpe")]
    assert {item.name for item in loaded} == {"tiny-bpe"}
    assert len({item.sha256 for item in loaded}) == 1
    assert not any(item.local for item in loaded)
    counts = {item.count(PLAIN) for item in loaded}
    assert counts == {len(loaded[0].encode(PLAIN).ids)}


@examples(100)
@given(seed=st.integers(0, 2**32 - 1))
def test_ends_of_a_tokenizer_json_suit_odd_texts(tiny_bpe: OffsetTokenizer, odd_text: OddText, seed: int) -> None:
    text = odd_text(random.Random(seed), 15)
    tokens = tiny_bpe.encode(text)
    assert len(tokens.ids) == len(tokens.ends) == tiny_bpe.count(text)
    assert tokens.ids.dtype == tokens.ends.dtype == np.int64
    assert all(before <= after for before, after in pairwise([0, *tokens.ends.tolist()]))
    assert [0, *tokens.ends.tolist()][-1] == len(text.encode())


def test_files_that_are_no_tokenizer_and_texts_that_one_does_not_cover_are_refused_by_name(tmp_path: Path) -> None:
    file, models = tmp_path / "tokenizer.json", hugging_face.models
    file.write_text('{"not": "one"}')
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: not a tokenizer\.json"):
        find_tokenizer(str(tmp_path))
    hugging_face.Tokenizer(models.BPE()).save(str(file))
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: its vocabulary is empty"):
        find_tokenizer(str(tmp_path))
    (tmp_path / "broken.model").write_bytes(b"\x00\x01")
    with pytest.raises(TokenizerError, match=r"broken\.model: not a SentencePiece model"):
        find_tokenizer(str(tmp_path / "broken.model"))
    hugging_face.Tokenizer(models.WordLevel({"the": 0}, unk_token="[UNK]")).save(str(file))
    few = find_tokenizer(str(tmp_path))
    assert few.count("the") == 1
    for take in (few.count, few.encode):
        with pytest.raises(TokenizerError, match=r"tokenizer\.json: cannot encode 'a cat' \(.*UNK"):
            take("a cat")


# SentencePiece ------------------------------------------------------------------------------------------------------


def test_control_pieces_of_a_sentencepiece_model_are_plain_text(piece_model: Path) -> None:
    tokens = find_tokenizer(str(piece_model)).encode("the cat</s><s>the cat")
    assert not {1, 2} & set(tokens.ids.tolist())
    assert int(tokens.ends[-1]) == len("the cat</s><s>the cat")


steady = examples(120)
seeds = st.integers(0, 2**32 - 1)


def _source(rng: random.Random, odd_text: OddText, tokenizer: Tokenizer) -> Counted:
    """A text made in one of the ways that texts are made in: whole, a part, or joined from both."""
    whole = counted(odd_text(rng, rng.randint(0, 60)), tokenizer)
    start = rng.randint(0, len(whole.text))
    cut = part(whole, start, rng.randint(start, len(whole.text)), tokenizer)
    return rng.choice((whole, cut, join([cut, whole, cut], tokenizer)))


def _edits(rng: random.Random, odd_text: OddText, size: int) -> list[Edit]:
    edges = sorted(rng.randint(0, size) for _ in range(2 * rng.randint(0, 4)))
    return [
        Edit(start, rng.choice((start, end)), odd_text(rng, rng.randint(0, 6)))
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]


@steady
@given(seed=seeds)
def test_an_edited_text_is_changed_where_its_edits_say_and_counted_as_if_encoded_whole(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int
) -> None:
    rng = random.Random(seed)
    source = _source(rng, odd_text, tokenizer)
    end = rng.randint(0, len(source.text))
    edits = _edits(rng, odd_text, end)
    text, spans, moved = source.text[:end], [], 0
    for start, after, insert in edits:
        text = text[: start + moved] + insert + text[after + moved :]
        if insert:
            spans.append((start + moved, start + moved + len(insert)))
        moved += len(insert) - (after - start)
    ends = tokenizer.encode(text).ends.tolist()
    assert edited(source, edits, end) == text
    assert count(source, edits, end, tokenizer) == len(ends)
    points = np.array(sorted(rng.randint(0, len(source.text)) for _ in range(5)))
    assert count_to(source, points, tokenizer).tolist() == [tokenizer.count(source.text[:p]) for p in points.tolist()]
    # The tokens of a span cover each of its characters.
    found = measured(source, edits, end, spans, tokenizer)[1]
    for (start, stop), (first, last) in zip(spans, found, strict=True):
        low, high = len(text[:start].encode()), len(text[:stop].encode())
        covers = [n for n, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)) if begin < high and end > low]
        assert (first, last) == (covers[0], covers[-1] + 1)


@steady
@given(seed=seeds)
def test_tokens_cut_out_of_a_text_are_their_bytes(tokenizer: BytePairTokenizer, odd_text: OddText, seed: int) -> None:
    rng = random.Random(seed)
    source = counted(odd_text(rng, rng.randint(1, 30)), tokenizer)
    first = rng.randint(0, source.size)
    last = rng.randint(first, source.size)
    offsets = [0, *source.ends.tolist()]
    data = source.text.encode()[offsets[first] : offsets[last]]
    assert source.of_tokens(first, last) == data.decode(errors="replace")
    point, inside = source.point_at(first)
    assert len(source.text[:point].encode()) + inside == offsets[first]
    assert source.tokens_to(point) == sum(end <= len(source.text[:point].encode()) for end in offsets[1:])


def test_a_tokenizer_that_is_not_local_encodes_the_whole_text(tiny_bpe: OffsetTokenizer) -> None:
    source = counted("It rained. The ferry was late.", tiny_bpe)
    edits = [Edit(10, 10, " Nobody came.")]
    text = edited(source, edits, len(source.text))
    assert not len(source.cuts)
    assert count(source, edits, len(source.text), tiny_bpe) == tiny_bpe.count(text)
    _, ((first, last),) = measured(source, edits, len(source.text), [(11, 23)], tiny_bpe)
    ends = tiny_bpe.encode(text).ends.tolist()
    assert ends[first - 1] <= 11
    assert ends[last - 1] >= 23


# tiktoken alone: none of our code is imported, so only the folder can help.
ALONE = """
import socket, sys

def refuse(*args, **kwargs):
    raise AssertionError("the network was used")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
import requests
requests.get = requests.Session.request = refuse
import tiktoken
for name in sys.argv[1:]:
    print(*tiktoken.get_encoding(name).encode("Hello, 世界!", disallowed_special=()))
print(*tiktoken.encoding_for_model("gpt-4o").encode("<|endoftext|>", allowed_special="all"))
assert not any(name.startswith("niah") for name in sys.modules)
"""
NAMES = ["cl100k_base", "o200k_base", "o200k_harmony"]


def tiktoken_alone(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(folder), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", ALONE, *NAMES]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.slow
def test_tiktoken_finds_every_bundled_encoding_without_the_network(tmp_path: Path) -> None:
    assert "the network was used" in tiktoken_alone(tmp_path).stderr  # so it would be noticed
    filled = fill_tiktoken_cache(tmp_path / "cache")
    assert sorted(name for names in filled.values() for name in names) == NAMES
    done = tiktoken_alone(tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    *encoded, special = done.stdout.splitlines()
    assert encoded == [" ".join(map(str, find_tokenizer(name).encode("Hello, 世界!").ids)) for name in NAMES]
    assert special == "199999"  # a special token, which is text to us
    assert set((tmp_path / "cache").iterdir()) == set(filled)  # tiktoken removes files whose hash it does not know


def test_intact_files_are_kept_and_damaged_ones_replaced(tmp_path: Path) -> None:
    first, second = fill_tiktoken_cache(tmp_path)
    whole = second.read_bytes()
    second.write_bytes(whole[:1000])
    (tmp_path / "other").write_text("of somebody else")
    before = first.stat().st_ino, first.stat().st_mtime_ns
    fill_tiktoken_cache(tmp_path)
    assert (first.stat().st_ino, first.stat().st_mtime_ns) == before
    assert second.read_bytes() == whole
    assert {path.name for path in tmp_path.iterdir()} == {first.name, second.name, "other"}
