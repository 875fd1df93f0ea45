"""A config: the options of a family of models or tasks, each written once.

The options that `--set` accepts, that `formalbench show` prints, that a record keeps and that the
constructor gets are all read from it.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Value = bool | int | float | str
"""What an option can hold: it must survive JSON and a command line."""


class Config(BaseModel):
    """The options of a family; every field has a default.

    A field is a ``bool``, ``int``, ``float``, ``str`` or a ``Literal`` of these; of an optimiser
    or a schedule, also a tuple of numbers. What one field cannot say (the heads divide the width)
    is a validator, which raises `ValueError`.

    Example:
        >>> class LstmConfig(Config):
        ...     width: int = option(128, "size of the state", minimum=1)
        ...     layers: int = option(1, "recurrent layers", minimum=1, maximum=64)
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, strict=True, validate_default=True
    )


def option(
    default: Value | tuple[float, ...],
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Return a field of a `Config`.

    Args:
        default: the value used when nothing is set.
        help: one line for `formalbench show`.
        minimum: the least number allowed, if any.
        maximum: the greatest.
    """
    return Field(default, description=help, ge=minimum, le=maximum)
