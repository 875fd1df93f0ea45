"""What this repository publishes, rendered once: page, Markdown, figures and terminal.

The pages of the browser's script are in `tests/page/test_as_published.py`; drawn figures in
`test_repository.py`.
"""

import base64
import io
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from formalbench.cli.main import run_command_line
from formalbench.documents.charts import GREY, colour_of
from formalbench.documents.figures import Figure, Panel
from formalbench.documents.text import ranks
from formalbench.host import PluginHost
from formalbench.statistics.board import Page
from formalbench.store import Store
from formalbench_leaderboard.board.sources import FRONT
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.charts.board_charts import drawings
from formalbench_leaderboard.charts.language_map import map_here
from formalbench_leaderboard.charts.map_chart import map_files
from formalbench_leaderboard.charts.map_chart import render as draw_map
from formalbench_leaderboard.page.descriptions import definitions
from formalbench_leaderboard.page.page import map_section
from formalbench_leaderboard.page.page import render_page as render_web
from formalbench_leaderboard.renderers import evidence_pages
from formalbench_leaderboard.renderers.pages import front_page, model_page, suite_page
from formalbench_leaderboard.renderers.render import kept_records, linked_files, reproduced
from formalbench_leaderboard.renderers.site import Site, lay_out
from formalbench_leaderboard.renderers.terminal import print_page
from rich.console import Console

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "leaderboard" / "results"
NO_NUMBER = re.compile(r"(?<![\w-])(None(?! of )|nan|NaN|inf|undefined|null)(?![\w-])")
MAP = Path("leaderboard/figures/map.svg")
RANK = re.compile(r"\b(\d+(?:–\d+)?) of (\d+)\b")


class Texts(HTMLParser):
    """The texts that a reader of a page sees, element by element."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.inside) and data.strip():
            self.found.append(data.strip())


@dataclass(frozen=True)
class Published:
    """Everything that is shown of the published records.

    Attributes:
        site: the pages of the repository.
        markdown: each of them as text, by its path.
        figures: each figure of a suite's boards, drawn, by its name.
        maps: each file of the map.
        page: of the default suite, as the web page and the terminal show it.
        web: the web page.
        data: what its script draws from.
        map: what `--format map` prints.
        terminal: what `formalbench leaderboard` prints at 80 columns.
        everything: what it prints with `--all`.
    """

    site: Site
    markdown: Mapping[Path, str]
    figures: Mapping[str, Figure]
    maps: Mapping[Path, str]
    page: Page
    web: str
    views: str
    map: str
    terminal: list[str]
    everything: list[str]


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    host = PluginHost.load()
    held = Store(RESULTS).files()
    records = {file.relative_to(REPOSITORY): record for file, record in held.items()}
    beside = linked_files(REPOSITORY), reproduced(REPOSITORY), kept_records(REPOSITORY)
    site = lay_out(records, host, *beside)
    pages = {FRONT: front_page(site)} | evidence_pages.pages(site.evidence, site.links)
    pages |= {one.path: suite_page(one, site) for one in site.suites}
    pages |= {one.path: model_page(one, site) for one in site.models}
    figures = {
        drawing.name: drawing.draw()
        for suite in site.suites
        for board in suite.board.boards
        for drawing in drawings(board, suite.name)
    }
    # The view of the commands has the same boards as the site's: see the test of the order.
    page = replace(site.everything, title=suite_view(host, "default").title)
    shown = map_here(page, host, "default", list(held.values()))
    web = render_web(page, definitions(host, held.values(), "default"), map_section(shown))
    packed = re.search(r'<script[^>]*id="views">([^<]*)<', web["index.html"])
    assert packed
    views = zlib.decompress(base64.b64decode(packed[1])).decode()
    return Published(
        site=site,
        markdown=pages,
        figures=figures,
        maps=map_files(site.map),
        page=page,
        web=web["index.html"],
        views=views,
        map=draw_map(shown),
        terminal=printed(tmp_path_factory),
        everything=in_terminal(page),
    )


def printed(folders: pytest.TempPathFactory) -> list[str]:
    """Return the lines of `formalbench leaderboard`, of the published records alone."""
    own = folders.mktemp("own")
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALBENCH_RESULTS", str(own / "results"))
        patch.setenv("FORMALBENCH_CACHE", str(own / "cache"))
        patch.setenv("COLUMNS", "80")
        patch.chdir(REPOSITORY)
        patch.setattr("sys.stdout", output)
        assert run_command_line(["leaderboard"]) == 0
    return output.getvalue().splitlines()


def in_terminal(page: Page) -> list[str]:
    target = io.StringIO()
    print_page(page, Console(file=target, width=80, color_system=None, legacy_windows=False))
    return target.getvalue().splitlines()


def names_of(page: Page) -> set[str]:
    models = {row.model for board in page.boards for row in board.rows}
    return models | {row.model for row in page.exact.rows}


@pytest.mark.slow
def test_no_page_shows_a_python_value_that_is_no_number(published):
    reader = Texts()
    reader.feed(published.web)
    assert len(reader.found) > 500
    assert [text for text in reader.found if NO_NUMBER.search(text)] == []
    shown = dict(published.markdown) | published.maps | {Path("map"): published.map}
    shown |= {Path("terminal"): "\n".join(published.terminal + published.everything)}
    found = [(path, line) for path, text in shown.items() for line in text.splitlines()]
    assert [(path, line) for path, line in found if NO_NUMBER.search(line)] == []


def drawn(panel: Panel) -> list[str]:
    """Return the colours of the models that have a line or a point in a panel."""
    return [one.color for one in panel.lines if len(one.x) and one.color != GREY]


def test_a_model_has_one_colour(published):
    found: dict[str, set[str]] = {}
    for name, figure in published.figures.items():
        for one in figure.panels[0].lines if name.endswith("-length") else ():
            if one.label:
                found.setdefault(one.label.partition(" (")[0], set()).add(one.color)
    chosen = r'--colour:light-dark\((#\w+), #\w+\)"><input type="checkbox" value="([^"]*)"'
    for colour, model in re.findall(chosen, published.views):
        found.setdefault(model, set()).add(colour)
    assert len(found) >= 20
    assert {model: colours for model, colours in found.items() if len(colours) != 1} == {}
    assert {model: {colour_of(model)} for model in found} == found
    assert len(set().union(*found.values())) == len(found)


def rows_of_map(svg: str) -> list[str]:
    return re.findall(r'<text[^>]*class="(?:model|family)"[^>]*>([^<]*)<', svg)


def test_there_is_one_order(published):
    """README's map, `--format map`, the page's map and its board, and every Markdown ranking."""
    assert published.maps[MAP] == published.map
    assert rows_of_map(published.map)
    (drawing,) = re.findall(r'<svg(?:(?!<svg).)*"map-wide-title.*?</svg>', published.web, re.DOTALL)
    assert rows_of_map(drawing) == rows_of_map(published.map)
    suite = next(suite for suite in published.site.suites if suite.name == "default")
    for other in suite.board.boards:
        (board,) = [one for one in published.page.boards if one.name == other.name]
        ranked = [row.model for row in board.rows if row.rank is not None]
        assert ranked == [row.model for row in other.rows if row.rank is not None]
        assert board.tasks == other.tasks


def test_there_is_one_count(published):
    """A rank is one of as many on a model's Markdown page as in its view on the page."""
    of = {board.name: board.ranked for board in published.page.boards}
    suite = next(suite for suite in published.site.suites if suite.name == "default")
    lines = 0
    for board in suite.board.boards:
        for row in board.rows:
            if row.rank is None:
                continue
            (path,) = [one.path for one in published.site.models if one.key == row.key]
            places = [
                line
                for line in published.markdown[path].splitlines()
                if line.startswith("| [default](") and board.name in line
            ]
            (place,) = places
            assert RANK.findall(place) == [
                (ranks(row.rank_low, row.rank_high), str(of[board.name]))
            ]
            rank = f"{ranks(row.rank_low, row.rank_high)} of {of[board.name]}"
            assert f"<dt>rank</dt><dd>{rank}</dd>" in published.views
            lines += 1
    assert lines >= 10
    # The page also has the boards of protocols with which no task of the suite was run.
    counted = dict.fromkeys(of, 0) | {
        board.name: sum(row.rank is not None for row in board.rows) for board in suite.board.boards
    }
    assert of == counted


def test_the_board_in_a_terminal_is_one_screen(published):
    assert 20 < len(published.terminal) <= 60
    heads = [line for line in published.terminal if line.startswith("formalbench leaderboard: ")]
    assert heads == [f"{published.page.title}, protocol {published.page.boards[0].name}"]
    text = "\n".join(published.terminal)
    for board in published.page.boards[1:]:
        assert f"formalbench leaderboard --protocol {board.protocol}" in text
    for suite in published.site.suites:
        assert suite.name == "default" or f"formalbench leaderboard --suite {suite.name}" in text


def test_no_name_is_broken_at_80_columns(published):
    page = published.page
    assert max(map(len, published.everything)) <= 80
    whole = "\n".join(line for line in published.everything if not line.startswith("!"))
    tasks = {task for board in page.boards for task in (*board.tasks, *board.other_tasks)}
    for name in names_of(page) | tasks:
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", whole), name
    first = "\n".join(published.terminal)
    assert all(task in first.split() for task in page.boards[0].tasks)
    assert sum("[" in name for name in names_of(page)) > 5
