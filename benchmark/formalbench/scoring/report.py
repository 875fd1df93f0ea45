"""Reports of scored answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from formalbench.contracts.verification import EvaluatedRecord
from formalbench.statistics.intervals import wilson_each
from formalbench.statistics.records import LEARNED, task_title
from formalbench.store import Store

if TYPE_CHECKING:
    from altair import VConcatChart

SUMMARY = ("task", "accuracy", "chance", "shortcut", "validation", "learned", "extrapolated",
           "horizon")  # fmt: skip
"""Columns of a suite's summary: attributes of `Report`."""


class Report:
    """Scores of answers on the test strings of a task, returned by `formalbench.evaluate`.

    Args:
        record: its record.
        chances: for each test cell, the accuracy of the best answer that depends only on the
            length.
        shortcut: accuracy of the best known shortcut; None if unknown.

    Attributes:
        name: name of the answering system.
        task: the task with its options.
        accuracy: mean of the primary metric over test lengths, with equal weight.
        chance: accuracy of the best answer that depends only on the length, averaged in the same
            way.
        shortcut: as given.
        validation: accuracy on held-out strings of the training lengths; None if not answered.
        learned: whether `validation` is at least 99 %; None if it is None.
        horizon: the longest test length up to which accuracy is at least 99 % at every length; None
            if there is none.
        extrapolated: whether `horizon` is the longest test length, and `learned` is not False.
        record: as given.
    """

    def __init__(
        self, record: EvaluatedRecord, chances: Sequence[float], shortcut: float | None
    ) -> None:
        self.record, self._chances, self.shortcut = record, tuple(chances), shortcut
        self.name = record.name
        self.task = task_title(record.task.name, record.task.options)
        self.accuracy = record.test.accuracy
        self.chance = record.test.chance_length
        validation = record.validation
        self.validation = None if validation is None else validation.accuracy
        self.learned = None if validation is None else validation.accuracy >= LEARNED

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per test length (or window, or named part), with the 95 % Wilson interval.

        Columns: name, task, length, group, strings, answers, correct, accuracy, low, high, chance.
        If a string has several answers, the interval counts strings as trials.
        """
        cells = self.record.test.cells
        frame = pd.DataFrame({"length": cells.length})
        frame.insert(0, "task", self.task)
        frame.insert(0, "name", self.name)
        frame["group"] = list(cells.group or [""] * len(cells.length))
        frame["strings"], frame["answers"] = list(cells.strings), list(cells.asked)
        frame["correct"] = list(cells.correct)
        frame["accuracy"] = frame["correct"] / frame["answers"]
        strings = frame["strings"].to_numpy(dtype=float)
        ends = wilson_each(frame["accuracy"].to_numpy(dtype=float) * strings, strings)
        frame["low"], frame["high"] = ends
        frame["chance"] = self._chances
        return frame

    @property
    def by_length(self) -> dict[int, tuple[float, float, float]]:
        """Accuracy at each test length with its 95 % interval: (accuracy, low, high).

        If several named parts share a length, that of the worst part.
        """
        worst_last = self.frame.sort_values("accuracy", ascending=False, kind="stable")
        shown = worst_last.sort_values("length", kind="stable")
        columns = shown[["length", "accuracy", "low", "high"]].itertuples(index=False)
        return {length: (accuracy, low, high) for length, accuracy, low, high in columns}

    @property
    def horizon(self) -> int | None:
        """See the class."""
        longest = None
        least = self.frame.groupby("length")["accuracy"].min()
        for length, accuracy in zip(least.index.tolist(), least, strict=True):
            if accuracy < LEARNED:
                break
            longest = int(length)
        return longest

    @property
    def extrapolated(self) -> bool:
        """See the class."""
        return self.learned is not False and self.horizon == self.record.test.cells.length[-1]

    def save(self, folder: Path | str) -> Path:
        """Write the record to a folder, replacing an earlier one of the same name and task.

        Boards do not rank it.

        Returns:
            The file.
        """
        return Store(Path(folder)).write_evaluated(self.record)

    def plot(self) -> VConcatChart:
        """Plot the accuracy at each length, with interval and chance level.

        Returns:
            A chart of Altair: a notebook shows it, ``chart.save("parity.svg")`` writes it.

        Raises:
            MissingPackageError: if altair (the extra ``figures``) is not installed.
        """
        from formalbench.contracts.errors import need_package

        need_package("Report.plot", "altair", "figures")
        from formalbench.documents.charts import GREY, colour_of
        from formalbench.documents.figures import Figure, Panel, Series, chart

        frame = 100 * self.frame[["accuracy", "low", "high", "chance"]]
        length = self.frame["length"].tolist()
        columns = {name: frame[name].tolist() for name in frame}
        accuracy = Series(
            length,
            columns["accuracy"],
            colour_of(self.name),
            self.name,
            "o-",
            bars=(length, columns["low"], columns["high"]),
        )
        level = Series(length, columns["chance"], GREY, "chance", "--")
        panel = Panel([level, accuracy], self.task, "test length", "accuracy (%)", ylim=(0, 103))
        return chart(Figure([[panel]], size=(480, 190)))

    def to_data(self) -> dict[str, Any]:
        """Return the data that ``formalbench score --json`` prints."""
        lengths = self.frame.drop(columns=["name", "task"]).to_dict("records")
        facts = {name: getattr(self, name) for name in SUMMARY}
        fingerprint = self.record.test.fingerprint
        return {"name": self.name, **facts, "fingerprint": fingerprint, "lengths": lengths}

    def __repr__(self) -> str:
        parts = [f"{self.name} on {self.task}: accuracy {self.accuracy:.1%}"]
        parts.append(f"chance {self.chance:.1%}")
        if self.shortcut is not None:
            parts.append(f"shortcut {self.shortcut:.1%}")
        if self.validation is not None:
            verb = "learned" if self.learned else "not learned"
            parts.append(f"training lengths {verb} ({self.validation:.1%})")
        if self.extrapolated:
            parts.append("extrapolated")
        else:
            reach = f"up to length {self.horizon}" if self.horizon else "at no length"
            parts.append(f"99 % {reach}")
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        shown = self.frame[["length", "strings", "accuracy", "low", "high", "chance"]]
        table = shown.to_html(index=False, float_format="{:.3f}".format, border=0)
        return f"<p>{escape(repr(self))}</p>{table}"


class SuiteReport(Mapping[str, Report]):
    """Reports on the tasks of a suite: a `Report` by task name.

    Attributes:
        accuracy: mean over the tasks.
    """

    def __init__(self, reports: Sequence[Report]) -> None:
        self._reports = {report.task: report for report in reports}
        self.accuracy = sum(report.accuracy for report in reports) / len(reports)

    def __getitem__(self, task: str) -> Report:
        return self._reports[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per task; the columns are `SUMMARY`."""
        rows = [[getattr(report, name) for name in SUMMARY] for report in self.values()]
        return pd.DataFrame(rows, columns=list(SUMMARY))

    @property
    def frame(self) -> pd.DataFrame:
        """The frames of all tasks, concatenated."""
        return pd.concat([report.frame for report in self.values()], ignore_index=True)

    def save(self, folder: Path | str) -> list[Path]:
        """Write a record for each task (`Report.save`)."""
        return [report.save(folder) for report in self.values()]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.values()))

    def _repr_html_(self) -> str:
        return str(self.summary.to_html(index=False, float_format="{:.3f}".format, border=0))
