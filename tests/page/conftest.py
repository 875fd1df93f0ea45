"""A browser without a network, and pages to open in it."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from formalbench.cli.main import run_command_line
from playwright.sync_api import Browser, Page, sync_playwright

RESULTS = Path(__file__).parents[2] / "leaderboard" / "results"
QUICK = "default/*/*/quick-*.json"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "a|b",
    "a\n# heading\r\n| x |",
    "abc\u202egpj.exe\u2066\u200f",
    "__proto__",
    "constructor",
    "100%25 & more#task=parity",
    "$title ${data}",
]


def write_page(results: Path, folder: Path) -> Path:
    arguments = ["leaderboard", "--results", str(results), "--format", "html"]
    assert run_command_line([*arguments, "--output", str(folder)]) == 0
    return folder / "index.html"


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the records that this repository publishes."""
    return write_page(RESULTS, tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="session")
def quick_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the published records of one protocol alone, and of the constructions.

    That protocol's records are whole, so what is said here of their page stays as it is.
    """
    results = tmp_path_factory.mktemp("quick")
    for file in [*RESULTS.glob(QUICK), *RESULTS.glob("exact/**/*.json")]:
        place = results / file.relative_to(RESULTS)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    return results


@pytest.fixture(scope="session")
def quick(quick_results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of one board."""
    return write_page(quick_results, tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="session")
def untested(quick_results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page on which every run of the GRU on first learned, and none finished its test."""
    results = tmp_path_factory.mktemp("untested") / "results"
    shutil.copytree(quick_results, results)
    files = list(results.glob("default/gru/first--classify/*.json"))
    assert len(files) == 3
    for file in files:
        data = json.loads(file.read_text())
        data |= {"status": "diverged", "message": "a logit is not finite", "test": None}
        data["weights"] = None
        file.write_text(json.dumps(data))
    return write_page(results, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of records with only hostile names."""
    results = tmp_path_factory.mktemp("records")
    files = sorted(RESULTS.glob("default/rnn/*/quick-*.json"))
    assert files
    for number, name in enumerate(HOSTILE):
        for file in files:
            data = json.loads(file.read_text())
            data["model"]["name"] = name
            data["environment"]["hardware"] = name
            data["command"] = f"formalbench run --model {name}"
            if number == 0:
                data["task"]["name"] = f"{name}:classify"
            data["test_id"] = f"{number:02}{data['test_id'][2:]}"
            (results / f"{number}-{file.name}").write_text(json.dumps(data))
    return write_page(results, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def two_boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of some records, and of some of them under another protocol."""
    results = tmp_path_factory.mktemp("records")
    for model in ("rnn", "gru"):
        for file in sorted(RESULTS.glob(f"default/{model}/*/quick-*.json")):
            data = json.loads(file.read_text())
            (results / f"{model}-{file.name}").write_text(json.dumps(data))
            if model == "gru":
                data["protocol"]["name"] = "slow"
                data["test_id"] = f"ff{data['test_id'][2:]}"
                (results / f"slow-{file.name}").write_text(json.dumps(data))
    return write_page(results, tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a text by perplexity and one by BLEU, of models one of which means harm.

    The first model is the best at words, and the last one at pairs.
    """
    results = tmp_path_factory.mktemp("records")
    for place, model in enumerate(("gru", "rnn", HOSTILE[2])):
        for number, file in enumerate(
            sorted(RESULTS.glob("default/rnn/first--classify/quick-*.json"))
        ):
            for task in ("words", "pairs"):
                data = json.loads(file.read_text())
                data["model"]["name"], data["task"]["name"] = model, f"{task}:classify"
                data["test_id"] = f"{place:02}{task[:2].encode().hex()}{data['test_id'][6:]}"
                cells = data["test"]["cells"]
                count = [100] * len(cells["length"])
                if task == "words":
                    grown = [10 + number + (place + 1) * 6 * at for at in range(len(count))]
                    total = [100 * one for one in grown]
                    cells["metrics"]["perplexity"] = {"total": total, "count": count}
                else:
                    data["test"]["metric"] = "bleu"
                    cells["group"] = ["up-to-9" if at < 8 else "over-9" for at in range(len(count))]
                    cells["correct"] = [64 if at < 8 else place for at in range(len(count))]
                (results / f"{place}-{task}-{file.name}").write_text(json.dumps(data))
    return write_page(results, tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="session")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of two models on parity, of the first also by a metric of a plugin."""
    results = tmp_path_factory.mktemp("records")
    for model in ("rnn", "gru"):
        for file in sorted(RESULTS.glob(f"default/{model}/parity--classify/quick-*.json")):
            data = json.loads(file.read_text())
            if model == "rnn":
                count = [100] * len(data["test"]["cells"]["metrics"]["cross-entropy"]["count"])
                f1 = {"total": [25] * len(count), "count": count}
                data["test"]["cells"]["metrics"]["f1"] = f1
                data["test"]["extra_metrics"] = {"f1": 1}
            (results / f"{model}-{file.name}").write_text(json.dumps(data))
    return write_page(results, tmp_path_factory.mktemp("added"))


@pytest.fixture
def hostile_names() -> list[str]:
    return HOSTILE


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    executable = next(filter(None, map(shutil.which, names)), None)
    assert executable, f"none of {', '.join(names)} is installed"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        running.close()


@dataclass
class Heard:
    """What a page said and asked for."""

    complaints: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a file without a network; in the end nothing was complained of nor asked for."""
    heard = Heard()
    contexts = []

    def open_page(
        file: Path, place: str = "", *, width: int = 1280, height: int = 800, **options: object
    ) -> Page:
        options = {"reduced_motion": "reduce", "color_scheme": "light", **options}
        size = {"width": width, "height": height}
        context = browser.new_context(offline=True, viewport=size, **options)
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.complaints.append(message.text))
        page.on("pageerror", lambda error: heard.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (heard.complaints.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: heard.addresses.append(request.url))
        page.goto(file.as_uri() + place)
        if options.get("java_script_enabled", True):
            page.locator("html[data-ready]").wait_for(state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard.complaints == []
    assert [url for url in heard.addresses if not url.startswith(("file:", "data:"))] == []
    assert all(urlsplit(url).path.endswith("/index.html") for url in heard.addresses)
