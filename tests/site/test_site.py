"""What a reader of the site finds; `make docs` runs this on what it has built."""

import re
from pathlib import Path
from urllib.parse import unquote

from formalbench.contracts import hooks


def text_of(soup):
    return " ".join(soup.find("article").get_text(" ").split())


def test_no_link_of_any_page_is_dead(pages):
    places = {path: {tag["id"] for tag in soup.find_all(id=True)} for path, soup in pages.items()}
    dead = []
    for path, soup in pages.items():
        for tag in soup.find_all(["a", "img", "script", "link"]):
            link = tag.get("href") or tag.get("src") or ""
            if re.match(r"[a-z]+:|//", link):
                continue
            file, _, place = link.partition("#")
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if not target.exists() or (place and place not in places.get(target, {place})):
                dead.append((path.name, link))
    assert dead == []


def test_the_first_page_leads_to_the_landing_page(pages, page):
    (meta,) = page("index").find_all("meta", attrs={"http-equiv": "refresh"})
    assert meta["content"] == "0; url=docs/index.html"
    assert "tests them on longer ones" in text_of(page("docs/index"))


def test_the_landing_page_leads_everywhere(pages, page):
    here = page("docs/index")
    sidebar = here.find(class_="sidebar-tree")
    linked = {Path(a["href"]).name for a in sidebar.find_all("a") if a["href"] != "#"}
    made = {path.name for path in pages} - {"index.html", "genindex.html", "search.html"}
    made -= {"py-modindex.html"}
    assert made <= linked


def test_the_tutorial_came_out_as_its_text_says(page):
    tutorial = page("docs/tutorial")
    told = text_of(tutorial)
    frames = [
        [cell.get_text() for cell in row.find_all("td")]
        for table in tutorial.find_all("table", class_="dataframe")
        for row in table.find_all("tr")
    ]
    accuracy = {(row[0], row[1]): float(row[3]) for row in frames if len(row) == 7}
    assert accuracy["gru", "parity:classify"] > 0.99
    assert accuracy["transformer", "parity:classify"] < 0.6
    own = {row[1]: float(row[2]) for row in frames if len(row) == 4}
    assert own["majority:classify"] > 0.85
    assert own["first:classify"] < 0.65
    assert len(tutorial.find("article").find_all("img")) == 2
    assert "gru-recurrence: can (finite precision" in told
    assert "diagonal-recurrence, eigenvalues [0, 1]: cannot (finite precision" in told


def test_a_notebook_shows_the_live_table(page):
    """It was executed in a kernel: the last picture of each call's one output is kept."""
    told = text_of(page("docs/tutorial"))
    assert re.search(r"\[1/2\] gru on parity:classify, seed 0, rate 0.001: 100.0% at 41–500", told)
    assert "2 of 2 runs were already finished" in told
    assert len(re.findall(r"2 of 2 runs, \d+:\d\d", told)) == 3


def test_links_out_of_the_site_lead_to_the_repository(page):
    linked = {a.get_text(): a["href"] for a in page("docs/plugins").find_all("a", href=True)}
    assert linked["examples/lars.py"].endswith("/examples/lars.py")
    assert linked["examples/"].rstrip("/").endswith("/examples")
    assert linked["CONTRIBUTING.md"] == "../CONTRIBUTING.html"


def test_each_hook_has_its_signature_and_example(page):
    reference = page("docs/reference/hooks")
    for name in (name for name in vars(hooks) if name.startswith("formalbench_")):
        signature = reference.find(id=f"formalbench.contracts.hooks.{name}")
        assert name in signature.get_text()
        assert f"def {name}(" in signature.find_next("dd").get_text()
