"""`formalbench.run` in a notebook: one output that changes, and a frame at the end."""

import builtins

import pytest
from formalbench import api
from formalbench.ui import live

pytestmark = pytest.mark.filterwarnings("default")  # IPython's own


@pytest.fixture
def run(tiny, odd_models):
    def run(**more):
        return api.run(
            *(["bag"], ["first"]),
            protocol="tiny",
            device="cpu",
            plugins=[tiny, odd_models],
            **more,
        )

    return run


@pytest.fixture
def shell(monkeypatch):
    """A shell that is taken for a notebook's; what it displays is captured."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    class ZMQInteractiveShell(InteractiveShell):
        """The name by which notebooks are known."""

    made = ZMQInteractiveShell.instance()
    monkeypatch.setattr(builtins, "get_ipython", lambda: made, raising=False)
    monkeypatch.setattr(live, "BEAT", 0.0)
    with capture_output() as captured:
        yield captured
    ZMQInteractiveShell.clear_instance()


def test_a_notebook_shows_one_table_that_changes(run, shell):
    frame = run()
    first, *others = shell.outputs
    assert list(frame["status"]) == ["finished", "finished"]
    assert others
    assert all(output.update for output in others)
    pictures = [output.data["text/html"] for output in others]
    assert any("40/40" in picture and "bag" in picture for picture in pictures)
    assert "0 of 2 runs" in first.data["text/html"]
    assert "2 of 2 runs" in pictures[-1]
    assert "[2/2] bag on first:classify, seed 1" in pictures[-1]


def test_a_notebook_shows_nothing_if_it_is_not_to(run, shell):
    run(progress=False, seeds=1)
    assert shell.outputs == []


def test_without_a_notebook_nothing_is_shown_unless_asked_for(run, capsys):
    assert len(run(seeds=1)) == 1
    assert capsys.readouterr() == ("", "")
    assert len(run(progress=True)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0] == "1 of 2 runs were already finished"
    assert said.err.splitlines()[1].startswith("[2/2] bag on first:classify, seed 1")
