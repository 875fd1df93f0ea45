"""The options of the tape-RNN."""

from __future__ import annotations

from formalbench import option

from formalbench_models.layers.memory_options import ControllerConfig


class TapeRnnConfig(ControllerConfig):
    """A controller and its tapes, which are as long as the string."""

    tapes: int = option(1, "tapes, each with actions of its own", minimum=1, maximum=64)
    cell: int = option(8, "numbers in a cell of a tape", minimum=1, maximum=1024)
    hidden: int = option(
        64, "hidden units in each of the two layers before what is written", minimum=1, maximum=8192
    )
    jumps: bool = option(
        True,
        "moves by the string's length, too; left out where an answer may not see the whole string",
    )
