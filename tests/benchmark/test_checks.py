"""The contract checks: what is built in passes, and planted defects are found."""

import pytest
from formalbench.checks import check_spec
from formalbench.host import PluginHost

HOST = PluginHost.load()
FAMILIES = ("dyck-1", "dyck-2-3", "shuffle-dyck-2", "boolean-3", "group-z6")
TASKS = [e.spec.name for e in HOST.tasks.all() if "{" not in e.spec.name] + [*FAMILIES]
MODELS = [
    e.spec.name
    for e in HOST.models.all()
    if "{" not in e.spec.name and e.spec.name not in ("fla", "hf")  # test_hf.py: they need an extra
]


@pytest.mark.parametrize("name", [*TASKS, *MODELS])
def test_what_is_built_in_keeps_its_promises(name):
    checks = check_spec(HOST, name)
    assert len(checks) >= 8
    assert [check for check in checks if not check.passed] == []
