"""Bad requests: one line on stderr, the right exit code, and nothing written."""

import pytest
from formalbench.store import Store

RUN = ("run", "--model", "bag", "--task", "first", "--protocol", "tiny", "--device", "cpu")


@pytest.fixture(autouse=True)
def _plugins(monkeypatch, tiny, odd_models):
    monkeypatch.setenv("FORMALBENCH_PLUGINS", f"{tiny}:{odd_models}")


def without(option):
    at = RUN.index(option)
    return (*RUN[:at], *RUN[at + 2 :])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*without("--model"), "--model", "lsmt"), "unknown model 'lsmt': did you mean lstm"),
        ((*without("--model"), "--model", "LSTM"), "unknown model 'LSTM': did you mean lstm?"),
        ((*without("--model"), "--model", ""), "an empty name"),
        (without("--model"), "--model"),
        ((*without("--task"), "--task", "partiy"), "unknown task 'partiy': did you mean parity"),
        ((*without("--task"), "--task", "group-z{n}"), "fill in n, as in group-z2"),
        ((*without("--task"), "--task", "parity:tga"), "'tga': did you mean tag"),
        ((*without("--task"), "--task", "parity:generate"), "generate needs a process"),
        ((*without("--task"), "--task", "parity:"), "ends in a colon"),
        ((*RUN, "--suite", "default"), "exclude each other"),
        ((*RUN, "--seeds", 0), "--seeds 0: must be at least 1"),
        (
            (*RUN, "--seeds", "many"),
            "--seeds many: must be a number of seeds (5) or a list of seeds (3,7,11)",
        ),
        *(
            ((*RUN, "--seeds", seeds), f"--seeds {seeds}: must be a num")
            for seeds in ("1.5", "1,,2")
        ),
        ((*RUN, "--seeds", "3,-7"), "a seed is at least 0"),
        ((*RUN, "--set", "executor.x=1"), "executor"),
        (("run", "--model", "rejecting", "--task", "first:tag"), "rejecting does not support tag"),
        *(((*RUN, "--set", f"width={value}"), "a whole number") for value in ("4,x", "4,")),
        ((*without("--model"), "--model", "bag[width=0]"), "at least 1"),
        ((*without("--model"), "--model", "bag[widht=3]"), "did you mean width"),
        ((*without("--model"), "--model", "transformer[positions=rop]"), "did you mean rope?"),
        ((*without("--model"), "--model", "bag[width=3"), "write name[key=value,key=value]"),
        ((*without("--task"), "--task", "parity[p=2]"), "at most 1"),
        ((*RUN, "--jobs", 0), "--jobs 0: must be at least 1"),
        ((*without("--device"), "--device", "banana"), "--device banana"),
        *(
            ((*RUN, "--set", text), "write model.key=value")
            for text in ("", "=", "=3", "nonsense", "non\nsense", "model.=3", ".width=3", "run.x=3")
        ),
        ((*RUN, "--set", "a.model.width=3"), "write model.key=value"),
        ((*RUN, "--set", "widht=3"), "unknown option 'widht': did you mean width?"),
        ((*RUN, "--set", "model.p=3"), "unknown model option 'p'"),
        ((*RUN, "--set", "task.width=3"), "unknown task option 'width'"),
        *(
            ((*RUN, "--set", one, "--set", other), "is set twice")
            for one, other in (
                ("width=3", "width=4"),
                ("width=3", "model.width=4"),
                ("model.width=3", "width=4"),
                ("task.p=0.1", "task.p=0.1"),
                ("protocol.steps=1", "protocol.steps=2"),
            )
        ),
        (
            (*without("--model"), "--model", "bag[width=3]", "--set", "width=4"),
            "--set width=4: width is set twice, also in bag[width=3]",
        ),
        (
            (*without("--task"), "--task", "first,parity[p=0.2]", "--set", "p=0.3"),
            "--set p=0.3: p is set twice, also in parity[p=0.2]",
        ),
        (
            ("run", "--model", "nondeterministic-stack", "--task", "parity"),
            "at most 100 symbols, and parity:classify tests at 500",
        ),
        ((*RUN, "--nonsense"), "--nonsense"),
        (("rnu",), "rnu"),
        ((*RUN, "--threads", 10_000), "--threads 10000: must be at least 1 and at most 256"),
        (("show", "task", "partiy"), "did you mean parity"),
        (("check", "dyck-{k}:tag"), "fill in k, as in dyck-2"),
        (("sample", "parity", "--length", -1), "--length -1: must be at least 0"),
        (("sample", "parity", "--length", 3, "--count", 0), "--count 0: must be at least 1"),
        (("sample", "parity", "--length", 5, "--count", 99999999999), "at most 2000000 of length"),
        (("sample", "parity", "--length", 3, "--set", "model.p=0.5"), "write task.key=value"),
        (("label", "partiy"), "did you mean parity"),
        (("check", "partiy"), "did you mean parity"),
        (("check", "nowhere.py"), "no such file"),
        (("check", ""), "needs a name or a path"),
        (("new", "model", "class"), "class is a keyword or a module of Python"),
        (("new", "model", "torch"), "torch is an installed module"),
    ],
    ids=lambda value: " ".join(map(repr, value)) if isinstance(value, tuple) else "",
)
def test_one_line(refused, arguments, said):
    line = refused(*arguments)
    assert line.startswith("formalbench: ")
    assert said in line


@pytest.mark.apart
def test_a_path_that_check_does_not_find(refused):
    assert refused("check", "nowhere.yaml").startswith("formalbench: check nowhere.yaml: no such")


def test_cuda_where_there_is_none(refused, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for device in ("cuda", "cuda:0"):
        line = refused(*without("--device"), "--device", device)
        assert f"--device {device}: torch finds no CUDA device" in line


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bad.yaml", "name: [x\n", "malformed YAML"),
        ("bad.yaml", "", "one mapping"),
        ("bad.yaml", "name: x\n", "or a protocol (steps, extends)"),
        ("bad.yaml", "name: x\nversion: 1\nsteps: 700\nstpes: 3\n", "stpes"),
        ("bad.yaml", "name: default\ntasks: [first]\n", "defined twice"),
        ("bad.yaml", "name: x\nalphabet: ab\nregx: a\n", "did you mean regex?"),
    ],
)
@pytest.mark.parametrize("command", [("list", "models"), RUN], ids=["list", "run"])
def test_bad_yaml_plugins(refused, write, command, name, text, said):
    path = write(name, text)
    line = refused(*command, "--plugin", path)
    assert said in line
    assert str(path) in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\ntasks: [partiy]\n", "unknown task 'partiy'"),
        ("name: x\ntasks: [parity]\nprotocol: tyni\n", "unknown protocol 'tyni'"),
    ],
)
def test_a_file_with_an_unknown_name_is_named(refused, write, text, said):
    path = write("bad.yaml", text)
    line = refused("run", "--model", "bag", "--suite", "x", "--plugin", path)
    assert f"{path}: " in line
    assert said in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"), [("", "truncated"), ('{"schema_version":3}', "upgrade formalbench")]
)
def test_a_file_in_the_results_that_is_no_record(refused, cli, results, text, said):
    results.mkdir()
    bad = results / "bad.json"
    bad.write_text(text)
    line = refused(*RUN)
    assert str(bad) in line
    assert said in line
    done = cli("leaderboard", "--results", results)
    assert done.code != 0
    assert "Traceback" not in done.err
    assert str(bad) in done.err


def test_records_of_an_older_format_stop_nothing(cli, results):
    results.mkdir()
    (results / "old.json").write_text('{"schema_version":1}')
    done = cli("leaderboard", "--results", results)
    assert done.code == 0
    assert f"1 record below {results} written by an older formalbench and not read" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "optimizers"), ": did you mean optimisers?"),
        (("new", "modl", "mine"), "'modl' is not one of 'model', 'task': did you mean model?"),
        (("leaderboard", "--format", "htm"), ": did you mean html?"),
        ((*RUN, "--set", "protocol.steps=35"), "steps must be a multiple of evaluate_every, 10"),
        ((*RUN, "--set", "protocol.optimizer.name=adam"), "did you mean optimiser.name?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_slip_is_told_with_the_nearest_right_word(refused, arguments, said):
    line = refused(*arguments)
    assert said in line
    assert "Value error" not in line


@pytest.mark.parametrize("below", ["", "below", "below/deeper"])
def test_results_that_cannot_be_written(refused, tmp_path, below):
    (tmp_path / "file").write_text("")
    line = refused(*RUN, "--results", tmp_path / "file" / below)
    assert "results folder" in line
    assert (tmp_path / "file").read_text() == ""


def test_a_disk_that_fills_up_during_a_run(cli, monkeypatch, results):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    done = cli(*RUN, "--seeds", 1, "--jobs", 1)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith("formalbench: cannot write ")
    assert Store(results).records() == []
    assert not [file for file in results.rglob("*") if file.is_file()]


def test_the_version(cli):
    from formalbench import __version__

    assert cli("--version").out == f"formalbench {__version__}\n"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_traceback(spawn):
    process = spawn("-m", "formalbench", "sample", "parity", "--length", 50, "--count", 20000)
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.wait(60)
    process.stdout = None
    assert err == ""
    assert process.returncode != 0
