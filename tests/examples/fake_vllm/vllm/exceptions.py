"""The errors of vLLM 0.33 for what a client asks; they are no ValueErrors."""


class VLLMClientError(Exception):
    """What was asked cannot be answered."""


class VLLMValidationError(VLLMClientError):
    """What was asked is not valid."""
