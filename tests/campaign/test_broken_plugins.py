"""Broken plugins: damaged sources are refused, and what their code does costs its own runs only."""

import pytest
from formalbench.checks import remote
from formalbench.running import dispatch
from formalbench.store import Store
from mutate import damaged

PLACES = ("imported", "built", "called")

KINDS = {
    "exits": "os._exit(3)",
    "aborts": "os.abort()",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "quits": "sys.exit(0)",
    "raises": "raise ValueError('no\\x1b[31m\\nsuch thing')",
    "raises what is no Exception": "raise BaseException('no')",
    "recurses": "(f := lambda: f())()",
    "never returns": "time.sleep(3600)",
    "spins": "exec('while True: pass')",
    "breaks json": "json.dumps = lambda *a, **k: '{}'",
    "breaks json with errors": "json.dumps = json.loads = None",
    "breaks time": "time.monotonic = lambda: 0.0",
    "breaks torch": "torch.Tensor.backward = torch.tanh = None",
    "changes the dtype": "torch.set_default_dtype(torch.float64)",
    "changes the device": "torch.set_default_device('meta')",
    "changes the seed": "torch.manual_seed(time.time_ns() % 1000)",
    "turns gradients off": "torch.set_grad_enabled(False)",
    "turns deterministic": "torch.use_deterministic_algorithms(True)",
    "takes threads": "torch.set_num_threads(2)",
    "leaves a thread": "threading.Thread(target=time.sleep, args=(3600,)).start()",
    "ignores signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "closes its files": "os.closerange(0, 3)",
    "goes elsewhere": "os.chdir('/')",
    "prints": "print('x' * 100_000)",
    "collects nothing": "gc.freeze(); gc.disable()",
    "clears the environment": "os.environ.clear()",
}
SPOILS_ITS_PROCESS = (
    *("exits", "aborts", "is killed", "never returns", "spins", "leaves a thread"),
    *("breaks json", "breaks json with errors", "closes its files"),
)
"""Kinds that end or change the importing process."""


def test_a_damaged_source(cli, mine, rng):
    path = mine()
    path.write_bytes(damaged(rng, path.read_bytes()))
    done = cli("list", "models", "--plugin", path)
    assert done.code in (0, 3), (path.read_bytes(), done)
    assert "most recent call last" not in done.err
    assert done.code == 0 or str(path) in done.err.splitlines()[0], (path.read_bytes(), done)


@pytest.mark.campaign
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_beside_it(spawn, tiny, mine, tmp_path, results, kind, place):
    if place == "imported" and kind in SPOILS_ITS_PROCESS:
        pytest.skip("no session begins")
    code = KINDS[kind]
    path = mine(**{place: f"if True: {code}" if code.startswith("raise") else code})
    alone = run(spawn, tiny, "gru[width=4]", "alone")
    beside = run(spawn, tiny, "mine,gru[width=4]", results, "--plugin", path)
    if beside == 3:
        assert place == "imported"  # refused: nothing was run
        return
    assert alone == 0
    assert beside in (0, 1)
    statuses = {record.model.name: record for record in Store(results).records()}
    (plain,) = Store(tmp_path / "alone").records()
    assert statuses["gru"].status == "finished"
    assert statuses["gru"].weights == plain.weights
    assert statuses["gru"].test.cells == plain.test.cells
    assert statuses["mine"].status == "finished" or beside == 1


SESSION = """
import sys
from importlib import import_module
from formalbench.running import dispatch
dispatch.PATIENCE = 20.0
import_module("formalbench.cli.main").main()
"""


def run(spawn, tiny, models, results, *more):
    """Run a session that is patient for seconds only; return its exit code."""
    assert dispatch.PATIENCE == remote.LIMIT == 120.0
    session = spawn(
        "-c", SESSION, "run", "--model", models, "--task", "first", "--protocol", "tiny",
        "--seeds", 1, "--device", "cpu", "--jobs", 1, "--set", "protocol.time_limit=20",
        "--plugin", tiny, "--results", results, *more,
    )  # fmt: skip
    _, err = session.communicate(timeout=300)
    assert "most recent call last" not in err, err
    return session.returncode
