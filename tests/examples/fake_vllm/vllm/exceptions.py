"""The errors of vLLM 0.33 about a client's request; they are not ValueErrors."""


class VLLMClientError(Exception):
    """The request cannot be answered."""


class VLLMValidationError(VLLMClientError):
    """The request is not valid."""
