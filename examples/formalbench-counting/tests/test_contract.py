"""The contract, as a test: run `pytest` after `pip install .`."""

import pytest
from formalbench.checks import check_spec
from formalbench.host import PluginHost


@pytest.mark.parametrize("name", ["more-ones", "bag-of-symbols"])
def test_the_contract_is_kept(name: str) -> None:
    checks = check_spec(PluginHost.load(), name)
    assert checks
    assert [check for check in checks if not check.passed] == []
