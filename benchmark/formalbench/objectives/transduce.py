"""The objective ``transduce``: an output string, written into blanks after the input.

Legend: B strings, N symbols, M blanks, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from formalbench.contracts.network import Example
from formalbench.contracts.objective import Chance
from formalbench.contracts.source import Labels, Stream, Symbols, Transduction
from formalbench.metrics.answers import AnswerAccuracy, CrossEntropy
from formalbench.objectives.answers import END, ClassAnswers, strings_of

if TYPE_CHECKING:
    from formalbench.contracts.objective import Metric

BLANK = "<blank>"

ESTIMATE_FROM = 4096
"""Strings per length for estimating the trivial predictors."""

TRIED = 64
"""Lengths at which a function's answer lengths are queried."""


class TransductionObjective(ClassAnswers):
    """Base of objectives about functions from strings to strings.

    Outputs are the function's own, then END. The primary metric is the share of correct symbols.
    """

    needs: ClassVar[tuple[type, ...]] = (Transduction,)
    sees_all = True

    def answers(self, source: Transduction) -> tuple[str, ...]:
        """Return the symbols of answers and END."""
        return (*source.outputs, END)

    def metrics(self, source: Transduction) -> tuple[Metric, ...]:
        """Return the accuracies of symbols and strings, and cross-entropy."""
        return AnswerAccuracy(), CrossEntropy()

    def chance(self, source: Transduction, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the accuracy of the most frequent symbol, overall and at each position.

        The best predictor by length uses the most frequent symbol at each position. Both are
        estimated from a sample.
        """
        shares, by_length = [], []
        for length in lengths:
            child = stream.child(length)
            strings = self.strings(source, child, length, ESTIMATE_FROM)
            example = self.examples(source, strings, child)
            counts_AK = _counts(example, len(self.answers(source)))
            shares.append(counts_AK.sum(axis=0) / counts_AK.sum())
            by_length.append(float(counts_AK.max(axis=1).sum() / counts_AK.sum()))
        return Chance(float(np.mean(shares, axis=0).max()), tuple(by_length))

    def show(self, source: Transduction, string: Symbols) -> str:
        """Return the symbols of the answer, separated by spaces."""
        answers_1M, (length,) = source.transduce(string[None, :])
        return " ".join(source.outputs[symbol] for symbol in answers_1M[0, :length].tolist())

    def to_json(self, source: Transduction, example: Example) -> list[Any]:
        """Return the ids of the answers' symbols, END left out."""
        end = len(source.outputs)
        return [
            [target for target, scored in zip(*rows, strict=True) if scored and target != end]
            for rows in zip(example.targets.tolist(), example.scored.tolist(), strict=True)
        ]

    def read_answer(self, source: Any, answer: Any, example: Example) -> npt.NDArray[Any]:
        """Return the symbols of an answer, END behind it, in the places that are scored."""
        items = answer.split() if isinstance(answer, str) else answer
        if not isinstance(items, list):
            raise ValueError(f"expected a list of symbols, got {items!r:.40}")
        names = {name: number for number, name in enumerate(source.outputs)}
        symbols = [names.get(one, one) if isinstance(one, str) else one for one in items]
        for one, symbol in zip(items, symbols, strict=True):
            if type(symbol) is not int or not 0 <= symbol < len(names):
                raise ValueError(f"{one!r:.40} is not a symbol (valid: {self._known([*names])})")
        places = np.flatnonzero(example.scored)
        labels = np.zeros(example.targets.size, dtype=np.int64)
        labels[places] = [*symbols, *[len(names)] * len(places)][: len(places)]
        return labels.reshape(example.targets.shape[1:])

    def contradicts(self, source: Transduction, example: Example) -> int | None:
        """Compare answers with the oracle's."""
        size = len(source.alphabet)
        pairs = zip(self.to_json(source, example), strings_of(example), strict=True)
        for index, (answer, string) in enumerate(pairs):
            if answer != source.oracle([symbol for symbol in string if symbol < size]):
                return index
        return None


class Transduce(TransductionObjective):
    """A symbol for every blank; behind the string stand as many as its answer can be long.

    For functions that know how long that is (`Transduction.answer_length`). A network is given
    strings over the alphabet and BLANK, (B, N+M). Logits are (B, N+M, K), targets (B, N+M), of
    which those of blanks are scored. An answer shorter than M ends with END; what stands behind
    that is not scored.
    """

    name = "transduce"
    layout = "each"

    def alphabet(self, source: Transduction) -> tuple[str, ...]:
        """Return the function's symbols and BLANK."""
        return (*source.alphabet, BLANK)

    def has_length(self, source: Transduction, length: int) -> bool:
        """Return whether there are strings of this length, and answers of a symbol or more."""
        return source.has_length(length) and bool(source.answer_length(length))

    def examples(self, source: Transduction, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for the answer in the place of blanks."""
        count, length = strings_BN.shape
        room = source.answer_length(length)
        if room is None:
            raise ValueError(
                f"no training string shows how long the answers are for length {length}"
            )
        answers_BM, lengths_B = source.transduce(strings_BN)
        wide_BM = _with_end(answers_BM, lengths_B, room, len(source.outputs))[:, :room]
        blanks_BM = np.full((count, room), len(source.alphabet), dtype=np.int64)
        scored_BM = np.arange(room) <= lengths_B[:, None]
        zeros = np.zeros_like(strings_BN)
        return Example(
            np.concatenate((strings_BN, blanks_BM), axis=1),
            np.concatenate((zeros, wide_BM), axis=1),
            scored=np.concatenate((zeros.astype(np.bool_), scored_BM), axis=1),
        )

    def refusal(self, source: Any) -> str | None:
        """Refuse functions that do not know how long their answers are."""
        if (reason := super().refusal(source)) is not None:
            return reason
        lengths = [length for length in range(TRIED) if source.has_length(length)]
        if lengths and source.answer_length(lengths[-1]) is None:
            return (
                f"{self.name} needs to know how long answers are, and {type(source).__name__} "
                "does not tell (answer_length): ask it to decode"
            )
        return None


class Decode(TransductionObjective):
    """A symbol after every prefix of the answer, END last, by encoder-decoders.

    For functions whose answers may be of any length. Logits are (B, M+1, K), targets (B, M+1);
    what stands behind END is not scored. In training a network gets the correct symbols so far
    (`Example.decoded`), in a test its own.
    """

    name = "decode"
    layout = "decoded"

    def examples(self, source: Transduction, strings_BN: Symbols, stream: Stream) -> Example:
        """Ask for each next symbol of the answer."""
        return said_in_steps(strings_BN, *source.transduce(strings_BN), len(source.outputs))


def said_in_steps(strings_BN: Symbols, answers_BM: Symbols, lengths_B: Labels, end: int) -> Example:
    """Return an example of the layout ``decoded``, with each next symbol as a target.

    Args:
        strings_BN: what is answered.
        answers_BM: symbols of the answers, with arbitrary padding.
        lengths_B: length of each answer.
        end: the output that ends them.
    """
    room = int(lengths_B.max(initial=0))
    targets_BM1 = _with_end(answers_BM, lengths_B, room, end)
    ends = np.arange(room + 1) == lengths_B[:, None]
    return Example(
        strings_BN,
        targets_BM1,
        scored=np.arange(room + 1) <= lengths_B[:, None],
        decoded=np.where(ends, 0, targets_BM1)[:, :room],
    )


def _with_end(answers_BM: Symbols, lengths_B: Labels, room: int, end: int) -> Symbols:
    """Return answers of up to `room` symbols, each followed by END and zeros, (B, room+1)."""
    longest = int(lengths_B.max(initial=0))
    if longest > room:
        raise ValueError(f"an answer has {longest} symbols, and answer_length says {room}")
    wide_BM = np.zeros((len(answers_BM), room + 1), dtype=np.int64)
    width = min(answers_BM.shape[1], room)
    wide_BM[:, :width] = answers_BM[:, :width]
    at_M = np.arange(room + 1)
    wide_BM[at_M > lengths_B[:, None]] = 0
    wide_BM[at_M == lengths_B[:, None]] = end
    return wide_BM


def _counts(example: Example, outputs: int) -> Any:
    """Count how often each output is correct at each position, (A, K), where scored."""
    targets_BA, scored_BA = example.targets, example.scored
    answers = targets_BA.shape[1]
    keys = (np.arange(answers) * outputs + targets_BA)[scored_BA]
    return np.bincount(keys, minlength=answers * outputs).reshape(answers, outputs)
