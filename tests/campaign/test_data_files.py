"""Damaged data sets, the YAML or a file that it names: read, or refused in one line."""

import shutil
from pathlib import Path

from mutate import damaged

EXAMPLE = Path(__file__).parents[2] / "examples" / "dataset"
COMMANDS = (
    ("show", "task", "shuffled-brackets"),
    ("sample", "shuffled-brackets", "--length", 12, "--count", 3),
)


def test_a_damaged_file_is_read_or_refused(cli, tmp_path, rng):
    folder = tmp_path / "data"
    shutil.copytree(EXAMPLE, folder)
    file = folder / rng.choice(sorted(path.name for path in EXAMPLE.iterdir()))
    file.write_bytes(damaged(rng, file.read_bytes()))
    for command in COMMANDS:
        done = cli(*command, "--plugin", folder / "shuffled-brackets.yaml")
        told = [line for line in done.err.splitlines() if not line.startswith("warning: ")]
        assert done.code in (0, 2), (file, done)
        assert len(told) == (done.code == 2), (file, done)
        assert all(line.isprintable() for line in told), (file, done)
