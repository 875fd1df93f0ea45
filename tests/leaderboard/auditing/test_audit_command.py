"""The command ``formalbench leaderboard audit``."""

from __future__ import annotations

import json

import pytest
from formalbench.cli.main import run_command_line


@pytest.fixture
def command(plugins, capsys):
    """Run ``formalbench leaderboard audit …``."""
    loaded = [word for path in plugins for word in ("--plugin", str(path))]

    def call(*arguments):
        words = ["leaderboard", "audit", *map(str, arguments), *loaded]
        capsys.readouterr()
        return run_command_line(words), *capsys.readouterr()

    return call


@pytest.mark.slow
def test_the_command(command, run, results, forge):
    code, out, err = command(results)
    assert code == 0, out
    lines = out.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("ok        ") for line in lines)
    assert "recorded 100.0 %, fresh 100.0 %, p 1" in out
    seed = err.split()[4]
    code, out, err = command(results, "--seed", seed)
    assert out.splitlines() == lines  # the same strings
    assert f"seed {seed}" in err

    file, record = run()
    forge(file, record, correct=[127] * 4)
    code, out, _ = command(results, "--json", "--seed", 5)
    assert code == 1
    data = json.loads(out)
    assert data["seed"] == 5
    verdicts = {one["path"]: one["verdict"] for one in data["records"]}
    assert verdicts.pop(str(file)) == "MISMATCH"
    assert set(verdicts.values()) == {"ok"}

    file.write_text("{}")
    code, out, _ = command(file)
    assert code == 1
    assert out.startswith("refused   ")
    assert len(out.splitlines()) == 1


def test_bad_requests_of_the_command(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, says in [
        (["nowhere.json"], "nowhere.json: no such record"),
        ([tmp_path], "no record in this folder"),
        ([], "run this inside a clone"),
        (["x", "--seed", "one"], "--seed"),
        (["x", "--device", "abacus"], "--device abacus"),
    ]:
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert says in err
        assert len(err.splitlines()) == 1
