"""A call that is refused says why in one line."""

import pytest
from formalbench import RequestError


def refusal(call):
    """Return the line with which a call is refused."""
    with pytest.raises(RequestError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)
