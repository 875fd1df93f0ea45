"""Records of a stranger's code: what only that can answer is asked in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord
from formalbench.running.sandbox import Apart, NoAnswerError, Tell
from formalbench.running.worker import load_host

from formalbench_leaderboard.publishing.places import is_built_in
from formalbench_leaderboard.publishing.plugin_sources import named_by
from formalbench_leaderboard.publishing.record_check import Admission

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost
    from formalbench.host.plugin import LocalPlugin


LIMIT = 600.0
"""Seconds in which nothing may be heard of a record: strings of a slow language take minutes."""


LOADING = "loading its plugins"


A = TypeVar("A")


T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[A]):
    """What a process is asked of a record; plain data.

    Attributes:
        record: which.
        plugins: those that are data only, and of the others those that the record needs.
        asked: what of it.
    """

    record: AnyRecord
    plugins: tuple[LocalPlugin, ...]
    asked: A

    @property
    def home(self) -> object:
        """What has run in a process that may answer."""
        distributions = {one.source.distribution for one in (self.record.model, self.record.task)}
        return frozenset(distributions), self.plugins


class Strangers(Apart):
    """Asks about records in a process apart; whose code gave no answer once is asked no more.

    Args:
        host: the plugins.
    """

    def __init__(self, host: PluginHost) -> None:
        super().__init__(LIMIT)
        self._host = host
        self._lost: dict[object, str] = {}

    def ask_about(
        self, record: AnyRecord, function: Callable[[Question[A], Tell], T], asked: A
    ) -> T:
        """Return what a function answers about a record, in another process.

        Raises:
            RequestError: one line, if its code ends the process or gives no answer.
        """
        question = Question(record, plugins_needed(record, self._host), asked)
        if question.home in self._lost:
            raise RequestError(self._lost[question.home])
        try:
            return self.ask(function, question)
        except NoAnswerError as error:
            what = error.said[-1] if error.said else LOADING
            self._lost[question.home] = f"{what}: its code {error.problem}"
            raise RequestError(self._lost[question.home]) from None


def are_strangers(record: AnyRecord, host: PluginHost) -> bool:
    """Say whether code that is not formalbench's own answers for a record, or was imported here."""
    own = is_built_in(record.model.source) and is_built_in(record.task.source)
    parts = isinstance(record, Record) and record.code
    return bool(parts) or not own or host.runs_local_code()


def plugins_needed(record: AnyRecord, host: PluginHost) -> tuple[LocalPlugin, ...]:
    """Return the local plugins that a process needs for a record."""
    needed = named_by(record, host)
    return tuple(one for one in host.locals() if not one.is_code or one in needed)


class CarefulAdmission(Admission):
    """Decides as `Admission` does, and asks a stranger's code in a process apart."""

    def __init__(self, host: PluginHost) -> None:
        super().__init__(host)
        self._strangers = Strangers(host)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._strangers.__exit__(*error)

    def admit(self, record: AnyRecord) -> None:
        """Refuse a record; see `Admission`."""
        if are_strangers(record, self._host):
            self._strangers.ask_about(record, _admit, None)
        else:
            super().admit(record)


def _admit(question: Question[None], tell: Tell) -> None:
    tell(LOADING)
    admission = _admission(question.plugins)
    tell("drawing its strings and building its network")
    admission.admit(question.record)


@lru_cache(maxsize=1)
def _admission(plugins: tuple[LocalPlugin, ...]) -> Admission:
    return Admission(load_host(plugins))
