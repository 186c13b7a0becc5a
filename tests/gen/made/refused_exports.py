"""What the user is told about an export that is refused."""

from __future__ import annotations

from typing import Any

import pytest

from niah_gen.errors import NiahError
from niah_gen.export.export import export


def refused(*arguments: Any, **named: Any) -> str:
    """The message of an export that must be refused."""
    with pytest.raises(NiahError) as caught:
        export(*arguments, **named)
    return str(caught.value)
