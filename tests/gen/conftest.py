"""Fixtures shared by the tests of the generator: tokenizers, texts that break things, small corpora on disk."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, find_tokenizer

# Failing asserts in these modules show their values, as those in tests do.
pytest.register_assert_rewrite("small_dataset")

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"

# Each is easy for a splitter, a merge or a UTF-8 boundary to get wrong.
_ODD = (
    "The essay", " begins", " with", " a", " Word", "HTTPServer", "camelCase", "naïve", "Straße", "ΣΊΣΥΦΟΣ", "Жизнь",
    "中文", "上海人工智能实验室", "。", "，", "；", "“引号”", "《书名》", "……", "——", "コーヒー", "한국어", "々〇",
    "1", "12", "123", "1234567", "3.14", "1,024", "２０２３", "Ⅷ", "٣٤٥",
    " ", "  ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", " \n ", "\u3000", "\u00a0", "\u2028", "\u200b", "\ufeff",
    ".", "...", "!?", ".\n", "。\n", ")\n\n", "?!\r\n", "//", "/usr/bin", "/\n", "-", "–", "…", "_", "$x", "#!",
    "'s", "'t", "'LL", "'ve", "don't", "I'm", "'", "''", "’s", "‘a’", "'ſ",
    "😀", "👨‍👩‍👧‍👦", "👍🏽", "🇨🇳", "❤️", "𝒳𝓎", "𠮷",
    "e\u0301", "n\u0303o", "\u0301", "\u20dd", "\u0345",
    "สวัสดีครับ", "กำ", "हिन्दी", "العَرَبِيَّة", "שָׁלוֹם",
    "def f(x):\n    return {'a': x[0]}\n", "<b>&amp;</b>", "if (a&&b) {\n\t\tc++;\n}", "{{}}", "=>",
    "\ufffd", "\ufffd\ufffd", "\x00", "\x1c", "\x7f", "\x85", "<|endoftext|>", '"', "\\", "`",
)  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _hide_the_users_own_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Names refer to what the package ships, whatever corpora and tokenizers this machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NIAH_CORPORA", raising=False)
        patch.delenv("NIAH_TOKENIZERS", raising=False)
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("no-data")))
        yield


@pytest.fixture(scope="session")
def odd_text() -> Callable[[random.Random, int], str]:
    """Makes a text of `count` odd snippets, sometimes joined by spaces, sometimes with one of them repeated."""

    def make(rng: random.Random, count: int) -> str:
        glue = rng.choice(("", "", " "))
        snippets = [rng.choice(_ODD) for _ in range(count)]
        if snippets and rng.random() < 0.3:
            at = rng.randrange(len(snippets))
            snippets[at] = snippets[at] * rng.randint(2, 40)
        return glue.join(snippets)

    return make


@pytest.fixture(scope="session", params=["cl100k_base", "o200k_base"])
def tokenizer(request: pytest.FixtureRequest) -> BytePairTokenizer:
    """Each bundled tokenizer in turn."""
    bundled = find_tokenizer(request.param)
    assert isinstance(bundled, BytePairTokenizer)
    return bundled


@pytest.fixture(scope="session")
def cl100k() -> BytePairTokenizer:
    """gpt-4's tokenizer, for tests where one is enough."""
    bundled = find_tokenizer("cl100k_base")
    assert isinstance(bundled, BytePairTokenizer)
    return bundled


TRAINING = [
    "the cat sat on the mat and the dog sat on the log. ",
    "a haystack holds one needle; nobody finds it twice. ",
    "上海人工智能实验室在上海。今天的天气很好，我们去公园。",
] * 40


@pytest.fixture(scope="session")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer.json of a byte-level BPE trained here, in a folder `tiny-bpe`, with a special token `<|eot|>`."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, trainers

    model = tokenizers.Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|eot|>"], initial_alphabet=alphabet, show_progress=False
    )
    model.train_from_iterator(TRAINING, trainer)
    folder = tmp_path_factory.mktemp("models") / "tiny-bpe"
    folder.mkdir()
    model.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.fixture
def model(tokenizer_json: Path, tmp_path: Path) -> Path:
    """A model's folder with ChatML's special tokens in its tokenizer, without a chat template."""
    import tokenizers

    folder = tmp_path / "my-model"
    folder.mkdir()
    made = tokenizers.Tokenizer.from_file(str(tokenizer_json))
    made.add_special_tokens(["<|im_start|>", "<|im_end|>", "<s>"])
    made.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def tiny_bpe(tokenizer_json: Path) -> OffsetTokenizer:
    """A tokenizer that is not local."""
    trained = find_tokenizer(str(tokenizer_json))
    assert isinstance(trained, OffsetTokenizer)
    return trained


@pytest.fixture(scope="session")
def piece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny SentencePiece model in a folder `tiny-pieces`; its normalisation drops white space at the ends."""
    import sentencepiece

    folder = tmp_path_factory.mktemp("models") / "tiny-pieces"
    folder.mkdir()
    lines = ["the cat sat on the mat", "a haystack holds one needle", "上海人工智能实验室在上海"] * 30
    options: dict[str, Any] = {"vocab_size": 300, "byte_fallback": True, "hard_vocab_limit": False, "minloglevel": 9}
    with (folder / "tokenizer.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=file, **options)
    return folder / "tokenizer.model"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the repository with the goldens and corpora that are not ours to ship."""
    if not (SHARED / "golden" / "presets.toml").is_file():
        pytest.skip(f"needs {SHARED}: goldens and corpora that are not part of the repository")
    return SHARED


@pytest.fixture
def own_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder where corpora are looked up first; the user's data folder does not exist."""
    folder = tmp_path / "corpora"
    folder.mkdir()
    monkeypatch.setenv("NIAH_CORPORA", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "no data"))
    return folder


@pytest.fixture(scope="session")
def write_texts() -> Callable[[Path, Sequence[str]], Path]:
    """Writes each text to a .txt file of its own in a folder."""

    def write(folder: Path, texts: Sequence[str]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(texts):
            (folder / f"{number:03d}.txt").write_text(text, "utf-8", newline="")
        return folder

    return write


@pytest.fixture(scope="session")
def write_jsonl() -> Callable[[Path, Sequence[str]], Path]:
    """Writes each text as one line of a JSON Lines file."""

    def write(path: Path, texts: Sequence[str]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
        path.write_text("".join(lines), "utf-8", newline="")
        return path

    return write
