"""The options of the languages that have some."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, option


class ParityConfig(Config):
    """How strings of PARITY are drawn."""

    p: float = option(
        0.5,
        "the probability of a 1 in strings to classify or tag (members are uniform)",
        minimum=0.0,
        maximum=1.0,
    )


class FileConfig(Config):
    """How strings of a language in a file are drawn."""

    sampling: Literal["own", "uniform"] = option(
        "own",
        "how strings are drawn: as its file says (own), or members and non-members uniformly among "
        "those of their length (uniform)",
    )


class DyckConfig(Config):
    """How strings of brackets are drawn."""

    outside: Literal["mixed", "changed"] = option(
        "mixed",
        "non-members to classify or tag: near misses, edited and uniform ones (mixed), "
        "or members with one symbol changed (changed)",
    )
    split: Literal["by-length", "by-string"] = option(
        "by-length",
        "what training and test differ in: their lengths only, or (by-string) strings of one "
        "length are kept apart, half for training, a quarter each for validation and test",
    )


class GroupConfig(Config):
    """Which elements of a group are read, and how."""

    symbols: Literal["all", "generators", "swaps", "three"] = option(
        "all",
        "the elements that are symbols: all; the identity, generators and their inverses; the "
        "identity and swaps; or permutations of at most three points",
    )
    tokens: int = option(
        1,
        "tokens for each element: itself, and then blanks that change nothing",
        minimum=1,
        maximum=16,
    )


class FlipFlopConfig(Config):
    """How strings of the flip-flop language are drawn."""

    ignored: float = option(
        0.8,
        "the probability of an instruction to ignore; 0.98 is called sparse, 0.1 dense",
        minimum=0.0,
        maximum=1.0,
    )


class RecallConfig(Config):
    """How large associative recall is."""

    vocabulary: int = option(
        128, "symbols, half of them keys and half values", minimum=4, maximum=8192
    )
    pairs: int = option(
        0, "pairs of a key and a value; 0 for one in 16 symbols", minimum=0, maximum=4095
    )
