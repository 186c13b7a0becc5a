"""Turns what the Hub's client raises into sentences without tokens or passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from niah_gen.errors import NiahError

_CONTINUE = "run the same command again; it continues where it stopped"
_TOKEN = re.compile(r"hf_\w{8,}|api_org_\w{8,}|(?<=Bearer )\S+")
_PASSWORD = re.compile(r"(?<=//)[^/@\s]+@")
_LONGEST = 300
_MEANINGS = {
    401: "the token is missing or not valid: log in with `hf auth login`, or set HF_TOKEN",
    403: "the token does not allow that: it needs write access to the repository",
    404: "it does not exist, or the token cannot see it",
    409: "something else changed it at the same time",
    412: "something else changed it at the same time",
    429: "too many requests: wait a few minutes",
}


@contextmanager
def telling(doing: str) -> Iterator[None]:
    """Raise what the client raises as a NiahError that says what was being done, why it failed, and what to do.

    The original is not chained: its request holds the token.
    """
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

    try:
        yield
    except LocalTokenNotFoundError:
        raise NiahError(f"{doing}: no token; log in with `hf auth login`, or set HF_TOKEN") from None
    except OfflineModeIsEnabled:
        raise NiahError(f"{doing}: HF_HUB_OFFLINE is set; unset it to publish") from None
    except HfHubHTTPError as error:
        raise NiahError(f"{doing}: {_answered(error)}") from None
    except (NiahError, MemoryError):
        raise
    # The client raises much: ValueError for answers it cannot read, RuntimeError for failed transfers, KeyError for
    # missing fields, and errors of its network library, which changed between releases.
    except Exception as error:  # noqa: BLE001
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if isinstance(cause, HfHubHTTPError):
            raise NiahError(f"{doing}: {_answered(cause)}") from None
        reason = without_secrets(f"{type(cause).__name__}: {cause}")
        raise NiahError(f"{doing}: {reason}; {_CONTINUE}") from None


def _answered(error: object) -> str:
    status = getattr(getattr(error, "response", None), "status_code", 0)
    message = without_secrets(getattr(error, "server_message", None) or "")
    meant = _MEANINGS.get(status)
    text = f"the Hub answered {status}" + (f" ({message})" if message else "") + (f": {meant}" if meant else "")
    return text if status in (401, 403) else f"{text}; {_CONTINUE}"


def without_secrets(text: str) -> str:
    """A text on one line, at most 300 characters, without tokens or passwords of addresses."""
    from huggingface_hub import get_token

    token = get_token()
    if token:
        text = text.replace(token, "***")
    text = _PASSWORD.sub("", _TOKEN.sub("***", " ".join(text.split())))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
