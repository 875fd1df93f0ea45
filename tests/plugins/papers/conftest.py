"""Shared by the tests of the papers: records, and reproductions that a test announces."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built_records import MakeRecord, build_record
from formalbench import ReproductionSpec
from formalbench.host import Plugin, PluginHost

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def make_record() -> MakeRecord:
    return build_record


@pytest.fixture
def announce(monkeypatch: pytest.MonkeyPatch) -> Callable[[ReproductionSpec], None]:
    """Let every host know one more reproduction, as an installed plugin would."""
    load = PluginHost.load_installed

    def announced(spec: ReproductionSpec) -> None:
        def load_with(host: PluginHost, **how: bool) -> None:
            load(host, **how)
            host.reproductions.add(spec, Plugin("toys", "toys", "1"))

        monkeypatch.setattr(PluginHost, "load_installed", load_with)

    return announced
