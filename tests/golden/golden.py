"""What must not change while the code moves: compare it with the files beside this one.

    python tests/golden/golden.py                    compare everything
    python tests/golden/golden.py weights tasks      compare some sections
    python tests/golden/golden.py --renew            write the files again, and print what changed

A section is a function below, and a file of the same name: a flat mapping from what is meant to a
digest, or to the text where the text is short. A difference is printed as one line with that name.
Everything is the same on every machine, but for the last digits of initial weights: drawing normal
numbers and orthogonal matrices uses vector instructions and LAPACK. Their bytes are compared where
torch, its instructions and the processor are those of the file, elsewhere sums, but for rounding.

A change of models, tasks or texts that is meant changes the files, too: renew them in its commit.
"""

import argparse
import contextlib
import hashlib
import io
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
RESULTS = ROOT / "leaderboard" / "results"

Section = dict[str, str]

FIELDS = {"n": 3, "k": 2, "D": 3}
"""What stands for the fields of a name: `dyck-{k}-{D}` is tried as `dyck-2-3`."""

NEEDS = {
    "encoder-decoder": "copy:decode",
    "encoder-decoder-logn": "copy:decode",
    "exact-crasp": "first:classify",
    "transformer-chiang-cholak-first": "first:classify",
    "exact-first": "first:classify",
    "flawed-first": "first:classify",
    "exact-dyck-1": "dyck-1:classify",
    "exact-dyck-1-3": "dyck-1-3:classify",
    "yao-hard-2-3": "dyck-2-3:classify",
    "yao-hard-as-soft-2-3": "dyck-2-3:classify",
    "yao-hard-generate-2-3": "dyck-2-3:generate",
    "yao-recognise-2-3": "dyck-2-3:classify",
    "yao-soft-2": "dyck-2:generate",
    "yao-soft-2-3": "dyck-2-3:generate",
}
"""The task that a network is built for, where it is not `parity:classify`."""

OBJECTIVES = ("parity:tag", "parity:next-symbols", "dyck-2-3:generate", "copy:transduce")
"""What else `OF_EACH_KIND` are built for: what answers there is another part of the network."""

OF_EACH_KIND = ("rnn", "regulargpt", "transformer", "deltanet")

SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "regulargpt": ({"chunk": 3}, {"heads": 4}),
    "transformer": ({"layers": 3, "heads": 2}, {"width": 32}),
    "rnn": ({"layers": 2, "width": 16},),
    "deltanet": ({"eigenvalues": "-1..1", "layers": 1},),
    "slice": ({"block": 1},),
}
"""Options beside each choice and each switch, which are all tried."""

OTHER_TASKS = (
    *("parity[p=0.1]", "dyck-2-3[outside=changed]"),
    *("dyck-1", "dyck-128-10", "shuffle-dyck-6", "boolean-2", "group-z60"),
    *("group-s5[symbols=swaps]", "group-s3[tokens=2]", "flip-flop[ignored=0.5]", "mqar[pairs=4]"),
)
"""Tasks with options that change their strings, or other numbers in their names."""

PUBLISHED = (
    *(f"default/{model}/*/quick-*.json" for model in ("gru", "regulargpt", "rnn", "transformer")),
    "exact/*/*/*.json",
)
"""The records that boards are made of: runs of one protocol, and exact models."""

SHORT_RUNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("rnn,deltanet", "parity,dyck-2-3:generate", ()),
    ("regulargpt", "tomita-3:next-symbols", ()),
    ("lstm", "cycle-navigation:tag", ()),
    (
        "transformer",
        "first",
        ("--set", "protocol.optimiser.name=adamw", "--set", "protocol.precision=bf16"),
    ),
    ("encoder-decoder", "copy:decode", ("--set", "protocol.accumulate=2")),
    ("gru", "reverse-string", ("--set", "protocol.curriculum.kind=staged")),
)
"""Models, tasks and more words of `formalbench run`."""

LISTED = (
    *("tasks", "models", "suites", "protocols", "objectives", "metrics", "probes", "optimisers"),
    *(
        "schedules",
        "samplers",
        "penalties",
        "executors",
        "trackers",
        "tables",
        "reproductions",
        "plugins",
    ),
)


def digest(contents: object) -> str:
    """Return eight hex digits of bytes, of a text or of data (whose order counts)."""
    if not isinstance(contents, bytes | str):
        contents = json.dumps(contents, ensure_ascii=False)
    raw = contents.encode() if isinstance(contents, str) else contents
    return hashlib.sha256(raw).hexdigest()[:8]


def instances(name: str) -> str:
    """Return a name for a pattern of names."""
    for field, value in FIELDS.items():
        name = name.replace(f"{{{field}}}", str(value))
    return name


def command(*arguments: str) -> str:
    """Run a command as the installed script does, and return what it prints."""
    from formalbench.cli import main as cli_main

    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["formalbench", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli_main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{' '.join(arguments)}: {err.getvalue()}") from None
    return out.getvalue()


@contextlib.contextmanager
def own_place() -> Iterator[Path]:
    """Work in an empty folder, on one thread, in a terminal of a fixed width."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environment = {
            "FORMALBENCH_CACHE": str(place / "cache"),
            "FORMALBENCH_RESULTS": str(place / "own"),
            "FORMALBENCH_PLUGINS": "",
            "COLUMNS": "100",
            "LINES": "50",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }
        with mock.patch.dict(os.environ, environment), contextlib.chdir(place):
            import torch

            torch.set_num_threads(1)
            yield place


def weights() -> Section:
    """Initial weights of every model: as it is, with each choice of each option, and of each kind.

    One line each: digests of names and shapes, and of the bytes; the sums of the values and of the
    values by their places.
    """
    import torch
    from formalbench.host import PluginHost
    from formalbench.host.options import option_facts

    host = PluginHost.load([])
    found: Section = {"torch": machine()}

    def build(name: str, task: str, options: Mapping[str, Any]) -> str:
        torch.manual_seed(0)
        try:
            network = host.network(name, host.task(task), options)
        except Exception as error:
            return f"refused: {str(error)[:120]}"
        state = dict(network.named_parameters()) | network.state_dict()
        form, contents = hashlib.sha256(), hashlib.sha256()
        total = placed = 0.0
        for key, tensor in state.items():
            form.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            values = tensor.detach().contiguous().flatten()
            contents.update(values.numpy().tobytes())
            numbers = values.double()
            total += numbers.sum().item()
            placed += (numbers * torch.arange(1, len(numbers) + 1) / len(numbers)).sum().item()
        return f"{form.hexdigest()[:8]} {contents.hexdigest()[:8]} {total:.9g} {placed:.9g}"

    for entry in host.models.all():
        if entry.spec.name in ("fla", "hf"):  # another library's weights, in any version
            continue
        name = instances(entry.spec.name)
        task = NEEDS.get(name, "parity:classify")
        tried: list[dict[str, Any]] = [{}]
        for key, fact in option_facts(entry.spec).items():
            others = [False, True] if isinstance(fact["default"], bool) else fact["choices"]
            tried += [{key: choice} for choice in others if choice != fact["default"]]
        for options in [*tried, *SETTINGS.get(name, ())]:
            words = ",".join(f"{key}={value}" for key, value in options.items())
            found[f"{name}[{words}] {task}"] = build(name, task, options)
    for name in OF_EACH_KIND:
        for task in OBJECTIVES:
            found[f"{name}[] {task}"] = build(name, task, {})
    return found


def records() -> Section:
    """Published records: those whose ids are not what their contents, or a plan, come to.

    Nothing is listed of a record whose ids come out again, so that one more changes nothing.
    """
    from formalbench.contracts.errors import FormalbenchError
    from formalbench.contracts.identity import ids_of
    from formalbench.contracts.record import Record
    from formalbench.contracts.specs import show_value
    from formalbench.host import PluginHost
    from formalbench.host.options import parse_settings
    from formalbench.running.plan import Run, RunRequest, make_plan
    from formalbench.store import Store

    host = PluginHost.load([])
    read, invalid = Store(RESULTS).valid()
    runs = [record for record in read if isinstance(record, Record)]
    found: Section = {f"unreadable {line}": "" for line in invalid}
    found["records"] = f"at least {len(read) // 100 * 100}"
    plans: dict[object, dict[object, Run] | str] = {}

    def planned(record: Record) -> dict[object, Run] | str:
        texts = [f"model.{k}={show_value(v)}" for k, v in record.model.options.items()]
        texts += [f"task.{k}={show_value(v)}" for k, v in record.task.options.items()]
        changed = record.protocol.changed or {}
        texts += [f"protocol.{k}={show_value(v)}" for k, v in changed.items()]
        names = (record.model.name,), (record.task.name,), "", record.protocol.name
        key = (*names, record.seed, tuple(texts))
        if key not in plans:
            try:
                request = RunRequest(*names, (record.seed,), parse_settings(texts))
                plan = make_plan(host, request)
                plans[key] = {run.learning_rate: run for run in plan.runs}
            except FormalbenchError as error:
                plans[key] = str(error)
        return plans[key]

    for record in runs:
        ids = (record.train_id, record.test_id)
        if ids_of(record) != ids:
            found[f"{record.test_id} computed"] = " ".join(ids_of(record))
        plan = planned(record)
        run = None if isinstance(plan, str) else plan.get(record.learning_rate)
        if run is None or (run.train_id, run.test_id) != ids:
            found[f"{record.test_id} planned"] = run.test_id if run else str(plan)[:200]
    return found


def tasks() -> Section:
    """Strings and answers of every task, with every objective, at six lengths of each split.

    With its version: where strings change, that is raised, and old records stop counting.
    """
    from formalbench.contracts.errors import RequestError
    from formalbench.contracts.source import Stream
    from formalbench.evaluation.cells import split_lengths, spread, validation_set
    from formalbench.evaluation.cells import test_set as draw_tests
    from formalbench.host import PluginHost

    host = PluginHost.load([])
    quick = host.protocol("quick")
    protocol = quick.model_copy(
        update={
            "test": quick.test.model_copy(update={"lengths": 6, "strings": 24}),
            "validation": quick.validation.model_copy(update={"lengths": 6, "strings": 24}),
        }
    )

    def of_example(example: Any) -> str:
        parts = ("inputs", "targets", "scored", "lengths", "decoded")
        present = {part: getattr(example, part) for part in parts}
        return digest({k: None if v is None else v.tolist() for k, v in present.items()})

    found: Section = {}
    for name in [*(instances(entry.spec.name) for entry in host.tasks.all()), *OTHER_TASKS]:
        spec = host.select_task(name).spec
        for objective in spec.objectives:
            language, bracket, options = name.partition("[")
            task = host.task(f"{language}:{objective}{bracket}{options}")
            title = f"{name}:{objective} {task.version}"
            for split, cells in (("test", draw_tests), ("validation", validation_set)):
                drawn = cells(task, protocol)
                found[f"{title} {split}"] = f"{drawn.fingerprint[:8]}: " + " ".join(
                    f"{cell.first} {'+'.join(map(of_example, cell.examples))}"
                    for cell in drawn.cells
                )
            counts = zip(spread(split_lengths(task, "train"), 6), (32, 9) * 3, strict=False)
            training = task.of("train")
            found[f"{title} train"] = " ".join(
                f"{n} {of_example(training.sample(training.stream('train', n), n, count))}"
                for n, count in counts
            )
        source = task.source
        for kind in ("sample_members", "near_misses"):
            if draw := getattr(source, kind, None):
                with contextlib.suppress(RequestError, ValueError):  # none so long
                    n = spread(split_lengths(task, "test"), 3)[1]
                    strings = draw(Stream("golden", name), n, 40)
                    found[f"{name} {task.version} {kind}"] = f"{n} {digest(strings.tolist())}"
    return found


def board() -> Section:
    """The board of a fixed set of published records, in all formats, and the files of `render`."""
    with own_place() as place:
        for pattern in PUBLISHED:
            for file in sorted(RESULTS.glob(pattern)):
                copy = place / "leaderboard" / "results" / file.relative_to(RESULTS)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        found: Section = {}
        for words in ("", "--all", "--model gru,rnn --task parity", "predictions", "papers"):
            found[words or "table"] = digest(command("leaderboard", *words.split()))
        for kind in ("markdown", "latex", "csv", "json", "map"):
            found[kind] = digest(command("leaderboard", "--format", kind))
        found["compare"] = digest(command("compare", "gru", "rnn", "--json"))
        command("leaderboard", "--format", "html", "--output", "html")
        found |= of_files(place / "html", "html")
        before = of_files(place / "leaderboard", "render")
        command("leaderboard", "render")
        after = of_files(place / "leaderboard", "render")
        return found | {name: one for name, one in after.items() if name not in before}


def faces() -> Section:
    """Every face of made-up boards that have what published ones lack, as text.

    Runs that failed, diverged at some lengths, were capped or learned by some seeds; weak evidence;
    a task that chance solves; texts by perplexity and BLEU; a plugin's metric; two protocols; rows
    of one's own, without a rank, of a class of tasks, and exact models.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    from built_records import PROTOCOL, TO_ITS_END, build_record, with_sums, with_test
    from formalbench import Theory
    from formalbench.statistics.build import View, build_page
    from formalbench.statistics.comparison import BoardRow, compare
    from formalbench.statistics.result import Prediction
    from formalbench.store import Store
    from formalbench_leaderboard.board.comparison import print_comparison
    from formalbench_leaderboard.board.predictions import prediction_outcomes
    from formalbench_leaderboard.board.summary import verdict_of
    from formalbench_leaderboard.renderers import FORMATS, renderer
    from formalbench_leaderboard.renderers.evidence_pages import Evidence, predictions_page
    from formalbench_leaderboard.renderers.terminal import TableDetail, print_page
    from rich.console import Console

    capped = {**TO_ITS_END, "ended": "capped"}
    kinds: dict[str, tuple[dict[str, Any], ...]] = {
        "lstm": ({}, {}, {"accuracy": [100, 99, 98, 100]}),
        "rnn": ({"accuracy": 0.7, "validation": 0.831},) * 3,
        "gru": ({}, {"validation": 0.8, "training": capped}, {"validation": 0.9}),
        "slow": ({"validation": 0.8, "training": capped},) * 2,
        "broken": ({}, {"status": "diverged"}, {"status": "timeout", "training": TO_ITS_END}),
        "partly": ({"not_finite": [2, 3]}, {"accuracy": 0.9}),
        "failed": ({"status": "error"},),
    }
    runs = [
        build_record(model, f"{task}:classify", seed=seed, **keys)
        for model, seeds in kinds.items()
        for task in ("parity", "first")
        for seed, keys in enumerate(seeds)
    ]
    runs += [
        build_record(options={"chunk": 3}, rate=rate, seed=seed, accuracy=0.97 - seed / 100)
        for rate in (0.001, 0.0003)
        for seed in range(3)
    ]
    runs.append(build_record("by-hand", rate=None, kind="exact"))
    runs.append(build_record("by-hand", "solved:classify", rate=None, kind="exact", chance=1.0))
    runs.append(build_record("lstm", protocol={**PROTOCOL, "name": "slow", "steps": 4000}))
    fingerprint = {"fingerprint": "0" * 64}
    for model, perplexities in {"lstm": (8, 9, 10, 12), "gru": (7, 8, 9, 1200)}.items():
        text = build_record(model, "words:classify", accuracy=[75] * 4, **fingerprint)
        runs.append(with_sums(text, perplexity=([100.0 * one for one in perplexities], [100] * 4)))
        pairs = build_record(model, "pairs:classify", accuracy=[60, 20], **fingerprint)
        runs.append(with_test(pairs, "bleu", group=("up-to-9", "over-9"), window=1))
    runs.append(with_sums(build_record("metric"), {"f1": 1}, f1=([25] * 4, [100] * 4)))
    exact = [*Store(RESULTS / "exact" / "exact-parity").all()]
    view = View(
        "made up",
        ("parity", "first", "solved", "words", "pairs"),
        new={runs[0].test_id},
        shortcut=lambda task: 0.951 if task == "first" else None,
        theory=lambda task: Theory.least("solvable") if task == "parity:classify" else None,
        predicted=lambda model, task: (Prediction("can", "lstm-saturated", "theorem"),),
    )
    page = build_page(runs, view, exact)
    found = {name: renderer(name)(page) for name in FORMATS}
    found["json"] = digest(found["json"])
    details = {
        "all": TableDetail(),
        "screen": TableDetail(False, "yours", other_tasks=True, lines=40),
    }
    for width in (60, 80, 130):
        for name, detail in details.items():
            target = io.StringIO()
            console = Console(file=target, width=width, color_system=None, legacy_windows=False)
            print_page(page, console, detail)
            found[f"terminal {name} {width}"] = target.getvalue()
    board = page.boards[0]
    found["verdicts"] = "\n".join(f"{row.model}: {verdict_of(board, row)}" for row in board.rows)
    found["predictions"] = predictions_page(Evidence(prediction_outcomes(page)))
    target = io.StringIO()
    one, other = (BoardRow(board, row) for row in board.rows if row.model in ("gru", "lstm"))
    print_comparison(compare(one, other), [], Console(file=target, width=80, color_system=None))
    return found | {"comparison": target.getvalue()}


def of_files(folder: Path, name: str) -> Section:
    """Return the digest of every file below a folder, but of figures.

    Their last digits are not the same every time; `leaderboard render --check` compares them.
    """
    drawn = ("-length.svg", "-cost.svg", ".png")
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(drawn))
    return {f"{name}/{path.relative_to(folder)}": digest(path.read_bytes()) for path in files}


def _without_folders(value: Any) -> Any:
    """A value as JSON gives it, with the names of files in place of their absolute paths."""
    if isinstance(value, dict):
        return {key: _without_folders(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_folders(one) for one in value]
    return Path(value).name if isinstance(value, str) and value.startswith("/") else value


def commands() -> Section:
    """The help of every command and every listing, as text."""
    found: Section = {}

    def descend(*words: str) -> None:
        text = found[" ".join((*words, "--help"))] = command(*words, "--help")
        below = text.partition("\nCommands:\n")[2]
        for line in below.splitlines():
            if line.startswith("  ") and line[2] != " ":
                descend(*words, line.split()[0])

    with own_place():
        descend()
        for kind in LISTED:
            listed = json.loads(command("list", kind, "--json"))
            found[f"list {kind}"] = digest(command("list", kind))
            for row in listed:
                found[f"list {kind} --json {row['name']}"] = digest(_without_folders(row))
    return found


def shown() -> Section:
    """`show --json` of everything, and every option in its order."""
    found: Section = {}
    with own_place():
        for kind in ("task", "model", "protocol", "suite"):
            for row in json.loads(command("list", f"{kind}s", "--json")):
                name = instances(row["name"])
                if name in ("fla", "hf"):
                    continue
                told = json.loads(command("show", kind, name, "--json"))
                options = told.pop("options", None) or {}
                if "plugin" in told:
                    told["plugin"] = told["plugin"].split()[0]  # without the version
                parts = {key: digest(value) for key, value in told.items()}
                parts |= {f"--{key}": digest(fact) for key, fact in options.items()}
                found[f"{kind} {name}"] = " ".join(f"{k}:{v}" for k, v in parts.items())
    return found


def machine() -> str:
    """Return what decides the last digits: torch, its instructions, and the processor."""
    import torch
    from formalbench.device import cpu_name

    return f"{torch.__version__} {torch.backends.cpu.get_cpu_capability()}, {cpu_name()}"


def runs() -> Section:
    """Records of short runs: what is drawn, and every number that comes of it.

    One line each: a digest of the ids and the test's strings, and one of the whole record but for
    times, sizes of memory and the environment.
    """
    quick = {"steps": 40, "decay.steps": 20, "validation.every": 20, "validation.lengths": 3}
    quick |= {"test.lengths": 3, "test.strings": 16, "batch": 8}
    words = [part for key, value in quick.items() for part in ("--set", f"protocol.{key}={value}")]
    found: Section = {"torch": machine()}
    with own_place():
        for models, tasks, more in SHORT_RUNS:
            asked = ("--model", models, "--task", tasks, "--seeds", "2", *more)
            alone = ("--device", "cpu", "--jobs", "1", "--json")
            for record in json.loads(command("run", *asked, *alone, *words)):
                name = f"{record['model']['name']} {record['task']['name']} {record['seed']}"
                known = [record["train_id"], record["test_id"], record["test"]["fingerprint"]]
                for part in ("environment", "date", "commit", "source"):
                    record.pop(part, None)
                for part in (record["model"], record["task"]):
                    part["source"].pop("version")
                for part in (record["training"], record["test"]):
                    for key in [key for key in part if "second" in key]:
                        part.pop(key)
                found[f"{name} {' '.join(more)}".rstrip()] = f"{digest(known)} {digest(record)}"
    return found


SECTIONS: dict[str, Callable[[], Section]] = {
    section.__name__: section
    for section in (weights, records, tasks, runs, board, faces, commands, shown)
}


def differences(name: str, old: Section, new: Section) -> list[str]:
    """Return one line for each thing that is not as it was."""
    if old.get("torch") != new.get("torch"):
        old, new = ({k: v for k, v in each.items() if k != "torch"} for each in (old, new))
        new = {k: old[k] if k in old and nearly(old[k], v) else v for k, v in new.items()}
    lines = [f"{name}: {key}: gone" for key in old if key not in new]
    lines += [f"{name}: {key}: new" for key in new if key not in old]
    for key in old.keys() & new.keys():
        if old[key] != new[key]:
            was, now = told(old[key], new[key])
            lines.append(f"{name}: {key}: {was} -> {now}")
    if not lines and list(old) != list(new):
        moved = next(two for two in zip(old, new, strict=True) if two[0] != two[1])
        lines.append(f"{name}: another order: {moved[1]} stands where {moved[0]} was")
    return sorted(lines)


def nearly(old: str, new: str) -> bool:
    """Say whether weights have the same names and shapes, and sums alike but for rounding."""
    (form, _, *sums), (other, _, *others) = old.split(), new.split()
    if form != other or form == "refused:":
        return old == new
    pairs = zip(sums, others, strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-5, abs_tol=2e-3) for a, b in pairs)


def told(old: str, new: str) -> tuple[str, str]:
    """Return what of two texts is not alike: lines of long ones, words of short ones."""
    cut = str.splitlines if "\n" in old + new else str.split
    before, after = cut(old), cut(new)
    gone = [part for part in before if part not in after]
    come = [part for part in after if part not in before]
    if not gone and not come:
        return "", "the same parts in another order"
    return " ".join(gone[:4]), " ".join(come[:4])


def read(name: str) -> Section:
    """Return a section as it was kept; nothing if it never was."""
    file = FOLDER / f"{name}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def main() -> int:
    """Compare, or renew; 1 if anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help="default: all")
    parser.add_argument("--renew", action="store_true", help="write what is now")
    asked = parser.parse_args()
    lines = []
    for name in asked.sections or SECTIONS:
        new = SECTIONS[name]()
        lines += (found := differences(name, read(name), new))
        print(f"{name}: {len(new)} entries, {len(found)} differences", file=sys.stderr)
        if asked.renew:
            text = json.dumps(new, indent=0, ensure_ascii=False)
            (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(*lines, sep="\n" if lines else "", end="\n" if lines else "")
    return int(bool(lines) and not asked.renew)


if __name__ == "__main__":
    sys.exit(main())
