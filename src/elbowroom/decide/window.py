"""What is said when the window is too small: the numbers, in words that clients recognise.

Knows: the two phrases by which client libraries tell this error from others.
Does not know: how the numbers came about (`fit`), or HTTP.
"""

from __future__ import annotations


def overflow_message(*, window: int, prompt: int, reserve: int) -> str:
    """The message of `ContextLengthExceeded`, all in tokens.

    Some clients look for the code, some for "context_length_exceeded" at the start, some for "maximum context length".
    """
    return (
        f"context_length_exceeded: This model's maximum context length is {window} tokens. However, your messages "
        f"resulted in {prompt} tokens that may not be cut, and the answer needs {reserve} more: "
        f"{prompt + reserve - window} too many. Shorten the messages, lower the answer's maximum, or choose a model "
        f"with a larger window."
    )
