"""Kills and full disks: the same command, once more, loses nothing and leaves nothing behind."""

import os
from dataclasses import asdict

import pytest
from commands import COMMANDS, Campaign, can_mount

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

COLUMNS = {
    "lost": "results lost",
    "changed": "results changed",
    "again": "runs repeated",
    "left": "files left",
    "broken": "commands failed",
}
"""Of the table, by what a fault does."""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return Campaign(tmp_path_factory.mktemp("commands"))


@pytest.fixture
def harmless(request):
    """Note what a case did for the table, and expect that it did no harm."""

    def harmless(fault, harm):
        harms = {COLUMNS[name]: names for name, names in asdict(harm).items()}
        counts = {column: len(names) for column, names in harms.items()}
        request.node.user_properties.append(("fault", (fault, counts)))
        assert not any(harms.values()), harms

    return harmless


@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill(campaign, harmless, name, rng):
    jobs = 2 if name in ("run", "fill") and rng.random() < 0.1 else 1  # workers take long to start
    harmless(f"kill of `{name}`", campaign.kill(name, jobs, rng))


def test_a_full_disk(campaign, harmless, tmp_path, rng):
    if not can_mount(tmp_path / "disk"):
        pytest.skip("needs to be root, to have a disk of its own")
    harmless("full disk", campaign.fill_disk(rng.choice([*COMMANDS]), 1, rng.random()))
