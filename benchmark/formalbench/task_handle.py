"""A task in Python: strings, correct answers, chance levels and theory.

Legend: B strings of one length, N symbols each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property
from itertools import count as numbers
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.errors import RequestError, check_text, unknown
from formalbench.contracts.network import pad
from formalbench.contracts.source import Symbols
from formalbench.contracts.specs import LONGEST, display, show_value
from formalbench.evaluation.cells import (
    TestSet,
    saved_test_set,
    split_lengths,
    train_set,
    validation_set,
)
from formalbench.host import load_plugins
from formalbench.host.options import check_settings, parse_instance, parse_settings
from formalbench.running.plan import task_used

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.data import IterableDataset

    from formalbench.contracts.config import Value
    from formalbench.contracts.network import Example, Layout
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.source import Split
    from formalbench.contracts.task import Task
    from formalbench.contracts.theory import Theory
    from formalbench.host import PluginHost

IGNORED = -100
"""Target of unscored answers, which `torch.nn.functional.cross_entropy` ignores."""

STANDARD = "standard"
"""The protocol of the leaderboard."""

SPLITS = ("train", "validation", "test")

Pair = tuple[Symbols, npt.NDArray[Any]]
"""Strings of one length, (B, N) ids, and their targets."""


def load(
    name: str, *, protocol: str = STANDARD, plugins: Sequence[Path | str] = (), **options: Value
) -> TaskHandle:
    """Load a task: strings, correct answers, chance levels and theory.

    The strings are those of the leaderboard, the same on every machine.

    Args:
        name: as in ``parity``, ``dyck-2-3:next-symbols`` or ``parity[p=0.3]``.
        protocol: decides number and lengths of strings.
        plugins: local plugins to load.
        options: of the task, as ``p=0.3``.

    Raises:
        RequestError: for an unknown name, with the nearest ones, or an invalid option.
        BrokenPluginError: if a requested plugin is broken.

    Example:
        >>> load("parity").label(["0110", "0111"])
        [0, 1]
    """
    check_text("name", name)
    texts = [f"{key}={show_value(value)}" for key, value in options.items()]
    for key, text in zip(options, texts, strict=True):
        if key in parse_instance(name)[1]:
            raise RequestError(f"{text}: {key} is set twice, also in {name}")
    return TaskHandle(load_plugins(plugins), name, texts, protocol)


def sample(
    task: str, length: int, count: int = 1, seed: int = 0, **options: Any
) -> tuple[list[str], list[Any]]:
    """Sample strings of a task with correct answers, like ``formalbench sample``.

    Args:
        task: its name.
        length: symbols per string.
        count: how many strings.
        seed: another seed, other strings.
        options: as for `load`, its keywords included.

    Returns:
        The strings as text, and for each its target as JSON has it: a class, or a list.

    Raises:
        RequestError: for an unknown name, or a length at which there is no string.

    Example:
        >>> sample("parity", length=5)
        (['11011'], [0])
    """
    return load(task, **options).sample(length, count, seed)


def label(task: str, strings: Sequence[str], **options: Any) -> list[Any]:
    """Return the correct answer for each string, like `TaskHandle.label`.

    Args:
        task: its name.
        strings: as text.
        options: as for `load`, its keywords included.

    Raises:
        RequestError: for an unknown name.

    Example:
        >>> label("even-pairs", ["0110", "01a0"])
        [0, None]
    """
    return load(task, **options).label(strings)


class LabelledStrings(Mapping[int, Pair]):
    """Strings of a split with their targets, by length: ``strings, targets = tests[41]``.

    Strings are int64 ids, (B, N); the objective decides the format of targets.

    Args:
        held: the strings of the test.
        layout: position of the answers.

    Attributes:
        cells: test cells in order.
        fingerprint: SHA-256 of all lengths, strings and targets, as in records.
    """

    def __init__(self, held: TestSet, layout: Layout) -> None:
        self.held, self._layout = held, layout
        self.cells = held.cells
        self.fingerprint = held.fingerprint

    @cached_property
    def _by_length(self) -> dict[int, list[Example]]:
        examples: dict[int, list[Example]] = {}
        for cell in self.cells:
            for example in cell.examples:
                length = cell.last if cell.first == cell.last else example.length
                examples.setdefault(length, []).append(example)
        return dict(sorted(examples.items()))

    def __getitem__(self, length: int) -> Pair:
        examples = self._by_length[length]
        return pair_of(examples[0] if len(examples) == 1 else pad(examples, self._layout))

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_length)

    def __len__(self) -> int:
        return len(self._by_length)

    def __eq__(self, other: object) -> bool:
        """Compare fingerprints; a mapping would compare arrays, which have no truth value."""
        return isinstance(other, LabelledStrings) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        strings = sum(cell.strings for cell in self.cells)
        return f"<{strings} strings of {len(self)} lengths, fingerprint {self.fingerprint[:16]}…>"


class TaskHandle:
    """A task: strings, correct answers, chance levels and theory. Returned by `load`.

    Args:
        host: the plugins.
        name: of the task, options behind it in brackets.
        settings: options as text, as ``p=0.3``.
        protocol: says how many strings there are, and of which lengths.

    Attributes:
        selected: the selected task.
        task: the `Task` that a model's factory gets. A symbol's id is its index in
            ``task.alphabet``, whose length is the number of symbols that a network reads.
        name: name with objective.
        title: name with options, as on the board.
        alphabet: symbols of strings as text: the first of ``task.alphabet``, to which an objective
            may add others, such as the blank of ``transduce``.
        answers: meaning of each of a network's K outputs.
    """

    def __init__(
        self,
        host: PluginHost,
        name: str,
        settings: Sequence[str] = (),
        protocol: str | Protocol = STANDARD,
    ) -> None:
        parsed = parse_settings(settings, ("task",))
        selected = host.select_task(name, parsed)
        check_settings(parsed, {}, {selected.name: selected.facts})
        self.host, self.selected, self.used = host, selected, task_used(selected)
        self.protocol = host.protocol(protocol) if isinstance(protocol, str) else protocol
        self.task: Task = self.protocol.apply(host.build_task(selected))
        self.name = self.task.name
        self.title = display(self.name.removesuffix(":classify"), selected.options)
        self._sets = cache(self._draw)
        self.alphabet = self.task.source.alphabet
        self.answers = self.task.objective.answers(self.task.source)

    def __repr__(self) -> str:
        first, last = self.task.splits.test
        return f"<task {self.title}: {len(self.alphabet)} symbols, tested at {first}–{last}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Load again when unpickled, as in a worker of a `DataLoader`."""
        local = [str(plugin.local.path) for plugin in self.host.plugins if plugin.local]
        return _reload, (local, self.selected.title, self.protocol)

    def blaming(self) -> AbstractContextManager[None]:
        """Turn an exception of the code of the task's plugin into an error that names it."""
        return self.host.blaming(self.selected.plugin)

    def sample(self, length: int, count: int = 1, seed: int = 0) -> tuple[list[str], list[Any]]:
        """Sample strings with correct answers, the same on every machine.

        Args:
            length: symbols per string.
            count: how many strings.
            seed: another seed, other strings.

        Returns:
            The strings as text, and for each its target as JSON has it: a class, or a list.

        Raises:
            RequestError: if there is no string of this length; it names the nearest that has one.
        """
        rows = self.rows(length, count, seed)
        strings = [self.join(row["string"]) for row in rows]
        return strings, [row["target"] for row in rows]

    def rows(
        self, length: int, count: int = 1, seed: int = 0, dashes: str = ""
    ) -> list[dict[str, Any]]:
        """Sample lists of symbols and targets, as ``formalbench sample`` prints them.

        Arguments as for `sample`; errors write `dashes` before their names.
        """
        length = whole_number(f"{dashes}length", length)
        count = whole_number(f"{dashes}count", count, 1)
        seed = whole_number(f"{dashes}seed", seed)
        if not 0 <= length <= LONGEST:
            raise RequestError(f"{dashes}length {length}: must be at least 0 and at most {LONGEST}")
        if count * max(length, 1) > LONGEST:
            most = LONGEST // max(length, 1)
            raise RequestError(
                f"{dashes}count {count}: at most {most} of length {length}; "
                f"another {dashes}seed gives more"
            )
        with self.blaming():
            return draw(self.task, length, count, seed)

    def label(self, strings: Sequence[str]) -> list[Any]:
        """Return the correct answer for each string.

        Args:
            strings: as text; symbols of one character may be written without spaces (``0110``).

        Returns:
            A class or a list for each string, as in `sample`; for ``generate``, whether it is
            a member. None if it is no string of the task.
        """
        if isinstance(strings, str):
            raise RequestError(f"strings is a list: write [{strings!r}]")
        if not isinstance(strings, Iterable):
            raise RequestError(f"strings is a list of texts, as ['0110']: {strings!r} is no list")
        strings = list(strings)
        answers: list[Any] = [None] * len(strings)
        by_length: dict[int, list[tuple[int, list[int]]]] = {}
        for place, text in enumerate(strings):
            if not isinstance(text, str):
                raise RequestError(f"strings is a list of texts, as ['0110']: {text!r} is no text")
            ids = parse_string(self.alphabet, text)
            if ids is not None:
                by_length.setdefault(len(ids), []).append((place, ids))
        with self.blaming():
            for length, group in by_length.items():
                strings_BN = np.array([ids for _, ids in group], dtype=np.int64)
                strings_BN = strings_BN.reshape(len(group), length)
                inside_B = self.task.source.in_domain(strings_BN)
                places = [place for (place, _), valid in zip(group, inside_B, strict=True) if valid]
                if places:
                    labels = self.task.objective.labels(self.task.source, strings_BN[inside_B])
                    for place, answer in zip(places, labels, strict=True):
                        answers[place] = answer
        return answers

    def show(self, line: str) -> str | None:
        """Return the correct answer for a string as ``formalbench label`` prints it, or None."""
        ids = parse_string(self.alphabet, line)
        if ids is None:
            return None
        string = np.array(ids, dtype=np.int64)
        with self.blaming():
            if not self.task.source.in_domain(string[None, :])[0]:
                return None
            return self.task.objective.show(self.task.source, string)

    def join(self, symbols: Sequence[str]) -> str:
        """Return a string as text for `label`."""
        return ("" if all(len(symbol) == 1 for symbol in self.alphabet) else " ").join(symbols)

    def test_set(self, split: Split = "test") -> LabelledStrings:
        """Return the strings of a split with their targets, by length.

        Args:
            split: ``test``: those of the leaderboard. ``validation``: those that select its
                checkpoints. ``train``: strings of the training lengths, equally many of each.

        Raises:
            RequestError: for another split.
        """
        if split not in SPLITS:
            raise unknown("split", str(split), SPLITS)
        return self._sets(split)

    def _draw(self, split: str) -> LabelledStrings:
        task, protocol = self.task, self.protocol
        with self.blaming():
            if split == "train":
                strings = train_set(task, protocol)
            elif split == "validation":
                strings = validation_set(task, protocol)
            else:
                strings = saved_test_set(task, self.used.source.model_dump_json(), protocol)
        return LabelledStrings(strings, task.layout)

    def batches(
        self,
        split: Split = "train",
        batch: int = 32,
        seed: int = 0,
        *,
        first: int = 0,
        step: int = 1,
    ) -> Iterator[Pair]:
        """Yield batches of strings of one length, as NumPy arrays.

        ``train`` never ends: each batch has a random length of the split (fixed strings are equally
            frequent). With the protocol's batch size (32) these are the batches of a run with this
            seed under ``standard``. ``validation`` and ``test`` yield each string of `test_set`
            once.

        Args:
            split: ``train``, ``validation`` or ``test``.
            batch: maximum strings per batch.
            seed: seed of the training strings.
            first: number of batches to skip.
            step: yield every `step`-th batch only.

        Yields:
            int64 ids, (B, N), and targets, (B, …): classes, or for ``next-symbols`` bits. Unscored
            answers are `IGNORED`.

        Raises:
            RequestError: for another split, or a number that is not whole or too small.
        """
        batch, seed = self._checked(split, batch, seed)
        first, step = whole_number("first", first, 0), whole_number("step", step, 1)
        if split != "train":
            return self._fixed_batches(self.test_set(split), batch, first, step)
        return self._training_batches(batch, seed, first, step)

    def _checked(self, split: str, batch: int, seed: int) -> tuple[int, int]:
        """Return batch size and seed, after a check of the arguments of `batches`."""
        if split not in SPLITS:
            raise unknown("split", str(split), SPLITS)
        return whole_number("batch", batch, 1), whole_number("seed", seed)

    def _training_batches(self, batch: int, seed: int, first: int, step: int) -> Iterator[Pair]:
        from formalbench.training.curriculum import UNIFORM, draw_length

        task, protocol = self.task.of("train"), self.protocol
        with self.blaming():
            lengths = split_lengths(task, "train")
            weights = UNIFORM.weights(task, protocol, lengths)
        own = None if protocol.shared_lengths else seed
        for number in numbers(first, step):
            with self.blaming():
                length = draw_length(protocol, lengths, number, weights, own)
                example = UNIFORM.strings(task, protocol, seed, number, length, batch)
            yield pair_of(example)

    def _fixed_batches(
        self, labelled: LabelledStrings, batch: int, first: int, step: int
    ) -> Iterator[Pair]:
        parts = (
            (strings[start : start + batch], targets[start : start + batch])
            for strings, targets in labelled.values()
            for start in range(0, len(strings), batch)
        )
        yield from islice(parts, first, None, step)

    def dataset(
        self, split: Split = "train", batch: int = 32, seed: int = 0
    ) -> IterableDataset[tuple[Tensor, Tensor]]:
        """Return what `batches` yields as a torch `IterableDataset` of tensors.

        A `DataLoader` takes it with ``batch_size=None``; its workers share the batches out.
        """
        from formalbench.training.curriculum import BatchDataset

        batch, seed = self._checked(split, batch, seed)
        return BatchDataset(self, split, batch, seed)

    @cached_property
    def chances(self) -> tuple[float, float]:
        """Accuracy of the best constant answer, and of the best that depends only on the length."""
        from formalbench.running.cohort import chance_of

        with self.blaming():
            return chance_of(self.used, self.task, self.test_set().held)

    @property
    def chance(self) -> float:
        """Accuracy on test strings of the best answer that depends only on the length."""
        return self.chances[1]

    @cached_property
    def theory(self) -> Theory | None:
        """The language's classes; None if unknown."""
        from formalbench.theory.lookup import theory_of_task

        return theory_of_task(self.host, self.name, self.task.source)

    @property
    def shortcuts(self) -> dict[str, float]:
        """Accuracies of shortcuts by name: the ``best`` known one.

        Empty if none was measured (docs/shortcuts.md).
        """
        best = self.host.shortcut(self.selected.title)
        return {} if best is None else {"best": best}


def _reload(plugins: list[str], name: str, protocol: Protocol) -> TaskHandle:
    return TaskHandle(load_plugins(plugins), name, protocol=protocol)


def whole_number(name: str, value: Any, least: int | None = None) -> int:
    """Return a whole number of any type, NumPy's included, as an `int`.

    Args:
        name: of the argument, for the error.
        value: its value.
        least: the smallest valid value, if there is one.

    Raises:
        RequestError: if it is something else, such as a bool, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise RequestError(f"{name} {value!r}: must be a whole number")
    if least is not None and value < least:
        raise RequestError(f"{name} {value}: must be at least {least}")
    return int(value)


def pair_of(example: Example) -> Pair:
    """Copy strings and targets of an example of one length, with 64-bit integers."""
    strings, targets, scored = example.inputs, example.targets, example.scored
    targets = targets.astype(np.bool_ if targets.dtype == np.bool_ else np.int64)
    if scored is not None and not scored.all():
        counts = scored.reshape(*scored.shape, *[1] * (targets.ndim - scored.ndim))
        targets = np.where(counts, targets, IGNORED)
    return strings.astype(np.int64), targets


def draw(task: Task, length: int, count: int, seed: int) -> list[dict[str, Any]]:
    """Return rows of plain symbols and their targets."""
    source = task.source
    if not task.lengths(length, length):
        around = (near for far in range(1, 100) for near in (length - far, length + far))
        close = next((near for near in around if near >= 0 and task.lengths(near, near)), None)
        hint = "" if close is None else f": the nearest that it has is {close}"
        raise RequestError(f"task {task.name} has no string of length {length}{hint}")
    stream = task.stream("sample", seed, length)
    strings = task.strings(stream, length, count)
    answers = task.to_json(task.examples(strings, stream))
    return [
        {"string": [source.alphabet[symbol] for symbol in string], "target": answer}
        for string, answer in zip(strings, answers, strict=True)
    ]


def parse_string(alphabet: Sequence[str], line: str) -> list[int] | None:
    """Return the symbol ids of a line, or None if a symbol is unknown.

    Example:
        >>> parse_string(("0", "1"), "0 11")
        [0, 1, 1]
    """
    index = {symbol: number for number, symbol in enumerate(alphabet)}
    ids: list[int] = []
    short = all(len(symbol) == 1 for symbol in alphabet)
    words = list(line) if short and " " in index else line.split()
    for word in words:
        symbols = [word] if word in index or not short else list(word)
        if any(symbol not in index for symbol in symbols):
            return None
        ids += [index[symbol] for symbol in symbols]
    return ids
