"""Config: the options of a family of models or tasks.

`--set`, `formalbench show`, records and constructors all read the options from it.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Value = bool | int | float | str
"""Types of an option's value; all can be written in JSON and on a command line."""


class Config(BaseModel):
    """The options of a family; every field has a default.

    A field is a ``bool``, ``int``, ``float``, ``str`` or a ``Literal`` of these; for an optimiser
    or a schedule, also a tuple of numbers. A condition on several fields (the heads divide the
    width) is a validator that raises `ValueError`.

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
        minimum: smallest allowed number, if any.
        maximum: largest allowed number, if any.
    """
    return Field(default, description=help, ge=minimum, le=maximum)
