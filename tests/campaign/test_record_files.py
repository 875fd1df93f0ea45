"""Damaged records and weights: refused in one line, and never a traceback."""

import contextlib
from hashlib import sha256
from pathlib import Path

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.host import PluginHost
from formalbench.store import read_record
from formalbench.store.weights import load_network, pack
from mutate import damaged

PUBLISHED = Path(__file__).parents[2] / "leaderboard" / "results"
RECORDS = sorted((PUBLISHED / "default").rglob("*.json"))
HOST = PluginHost.load()


def test_a_record(cli, results, rng):
    path = results / "record.json"
    path.parent.mkdir()
    path.write_bytes(damaged(rng, rng.choice(RECORDS).read_bytes()))
    done = cli("leaderboard", "--results", results, "--format", "json")
    assert done.code in (0, 1), (path.read_bytes(), done)
    assert "Traceback" not in done.err
    assert done.code == 0 or len(done.err.splitlines()) == 2, (path.read_bytes(), done)


@pytest.fixture(scope="module")
def kept():
    """Return a small network's record, and what would be its weights."""
    record = read_record(next(path for path in RECORDS if "default/rnn/" in path.as_posix()))
    task = record.protocol.apply(HOST.task(record.task.name, record.task.options))
    packed = pack(HOST.network(record.model.name, task, record.model.options))
    return record.model_copy(update={"weights": sha256(packed).hexdigest()}), packed


def test_weights(tmp_path, rng, kept):
    record, packed = kept
    path = tmp_path / "run.safetensors"
    path.write_bytes(packed)
    load_network(HOST, record, path)
    path.write_bytes(damaged(rng, packed))
    with pytest.raises(RequestError, match=r"not the weights of run|larger than"):
        load_network(HOST, record, path)


def test_weights_that_a_forged_record_names(tmp_path, rng, kept):
    """A network, as far as it is one, or one line: and nothing else."""
    record, packed = kept
    path = tmp_path / "run.safetensors"
    path.write_bytes(damaged(rng, packed))
    forged = record.model_copy(update={"weights": sha256(path.read_bytes()).hexdigest()})
    with contextlib.suppress(RequestError):
        load_network(HOST, forged, path)
