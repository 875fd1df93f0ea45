"""A store that several processes and several users share."""

import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from formalbench import store as storing
from formalbench.files import UNFINISHED
from formalbench.store import Store, weights_path
from made_records import make_finished, write_many

HERE = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "

NOBODY = 65534


def test_of_two_who_do_one_run_the_record_that_stays_has_its_own_weights(results, monkeypatch):
    """One writes both its files between the two of the other."""
    store, write, between = Store(results), storing.write_atomically, []

    def interleaved(path, contents):
        write(path, contents)
        if contents == b"mine" and not between:
            between.append(path)
            store.write(make_finished(1, b"other"), b"other")

    monkeypatch.setattr(storing, "write_atomically", interleaved)
    path = store.write(make_finished(1, b"mine"), b"mine")
    assert between
    (kept,) = store.records()
    assert kept.weights == sha256(weights_path(path).read_bytes()).hexdigest()


@pytest.mark.slow
def test_many_write_one_store_while_another_reads(results, spawn):
    """All writes arrive, equal ones once, and no reader sees a part."""
    script = (
        HERE
        + "from made_records import write_many; write_many(*sys.argv[1:2], *map(int, sys.argv[2:]))"
    )
    writers = [spawn("-c", script, results, first, first + 40) for first in (0, 20, 40, 60)]
    seen = [0]
    while any(writer.poll() is None for writer in writers):
        store = Store(results)
        found = store.records()
        assert all(weights_path(store.path_of(one)).is_file() for one in found)
        seen.append(len(found))
    assert [writer.returncode for writer in writers] == [0] * 4
    assert seen == sorted(seen)  # nothing that was there is ever missing
    assert len(Store(results).records()) == 100
    assert not [file for file in results.rglob("*") if file.name.startswith(UNFINISHED)]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs two users: be root")
def test_another_user_reads_what_the_first_wrote_and_changes_nothing():
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        Path(place).chmod(0o755)
        results = Path(place) / "results"
        write_many(results, 0, 2)
        (results / ".slurm-0").mkdir(mode=0o700)
        done = as_nobody(results)
    assert done.returncode == 0, done.stderr
    count, refused = done.stdout.splitlines()
    assert count == "2"
    assert refused.startswith("cannot write")
    assert "Permission denied" in refused


def as_nobody(results):
    """Read a store and write to it, as a user with no rights."""
    script = (
        HERE
        + """
import os
from pathlib import Path
from formalbench import RequestError
from formalbench.store import Store
from made_records import write_many
os.setgroups([]); os.setgid(NOBODY); os.setuid(NOBODY)
print(len(Store(Path(sys.argv[1])).records()))
try:
    write_many(sys.argv[1], 2, 3)
except RequestError as error:
    print(error)
""".replace("NOBODY", str(NOBODY))
    )
    return subprocess.run([sys.executable, "-c", script, results], capture_output=True, text=True)
