"""A filled cache folder: tiktoken finds every bundled encoding in it and uses no network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from niah_gen.tokenizers.find import find_tokenizer
from niah_gen.tokenizers.here import fill_tiktoken_cache

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
