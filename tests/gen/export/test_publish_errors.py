"""What may be told of an error: no token of any form, no password of an address."""

from __future__ import annotations

import pytest

from niah_gen.errors import NiahError
from niah_gen.export.hub_errors import telling, without_secrets


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("a token of no known form 9z8y7x: own-token-1", "a token of no known form 9z8y7x: ***"),
        ("another's hf_abcdefghijkl is one", "another's *** is one"),
        ("Authorization: Bearer eyJhbGciOi.x.y sent", "Authorization: Bearer *** sent"),
        ("http://me:secret@hub.example/api\nfailed", "http://hub.example/api failed"),
        ("x" * 400, "x" * 300 + "..."),
    ],
)
def test_tokens_and_passwords_are_taken_out(said: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "own-token-1")
    assert without_secrets(said) == told


def test_an_error_of_any_kind_in_the_client_is_a_sentence_with_the_cause_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "own-token-1")
    failure = RuntimeError("Error while uploading")
    failure.__cause__ = OSError("disk of own-token-1 is gone")
    with pytest.raises(NiahError) as raised, telling("sending 2 files"):
        raise failure
    said = "sending 2 files: OSError: disk of *** is gone; run the same command again; it continues where it stopped"
    assert str(raised.value) == said
