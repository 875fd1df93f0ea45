"""What plugins say of the files that they keep in the repository is among what `check` finds."""

from __future__ import annotations

import pytest
from formalbench import hookimpl
from formalbench_leaderboard.publishing.check import check_published


class Videos:
    """A plugin that keeps videos in the repository."""

    def __init__(self, problem=None):
        self.problem = problem

    @hookimpl
    def formalbench_check_repository(self, repository, host):
        if self.problem is not None:
            raise self.problem
        yield f"{repository / 'a.avi'}: no video"
        yield f"{repository / 'b.avi'}: nor this, {len(host.tasks.all())} tasks"


def test_its_lines_are_problems(repository, host):
    host.observe(Videos(), "videos")
    assert check_published(repository, host).problems == [
        "a.avi: no video",
        "b.avi: nor this, 4 tasks",
    ]


@pytest.mark.parametrize("problem", [ValueError("no\nluck"), KeyError("x")])
def test_one_that_fails_is_a_problem_itself(repository, host, problem):
    host.observe(Videos(problem), "videos")
    (line,) = check_published(repository, host).problems
    assert type(problem).__name__ in line


def test_nobody_else_has_anything_to_say(repository, host):
    assert check_published(repository, host).problems == []
