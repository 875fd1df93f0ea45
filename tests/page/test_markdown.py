"""The Markdown page, as wide as GitHub shows it."""

from pathlib import Path

from formalbench.cli.main import run_command_line
from markdown_it import MarkdownIt

RESULTS = Path(__file__).parents[2] / "leaderboard" / "results"

# The measures of GitHub's style sheet.
STYLE = """<!doctype html><html data-ready><meta charset="utf-8"><style>
body { margin: 0; width: 950px; font: 16px/1.5 "Segoe UI", Helvetica, Arial, sans-serif }
table { display: block; width: max-content; max-width: 100%; overflow: auto;
        border-collapse: collapse }
td, th { padding: 6px 13px; border: 1px solid #ccc }
th { font-weight: 600 }
code { font: 85% monospace; padding: .2em .4em; white-space: break-spaces }
</style>"""


def test_no_table_has_a_scroll_bar(tmp_path, opened):
    arguments = ["leaderboard", "--results", str(RESULTS), "--format", "markdown"]
    assert run_command_line([*arguments, "--output", str(tmp_path / "page.md")]) == 0
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    (tmp_path / "index.html").write_text(STYLE + parser.render(text), encoding="utf-8")
    page = opened(tmp_path / "index.html")
    widths = page.eval_on_selector_all("table", "found => found.map(one => one.scrollWidth)")
    assert len(widths) > 10
    assert max(widths) <= 950
