"""What a plain class is, and what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalbench.checks.promises import Check
from formalbench.checks.trials import trial_task
from formalbench.contracts.errors import MissingPackageError, RequestError
from formalbench.contracts.network import traits_of
from formalbench.contracts.specs import display
from formalbench.host.options import option_facts, parse_instance

if TYPE_CHECKING:
    from torch import nn

    from formalbench.host import PluginHost


def plain_facts(host: PluginHost, name: str) -> Iterator[Check]:
    """Yield what a class is as checks that passed.

    Args:
        host: the plugins.
        name: of its model, options behind it.

    Raises:
        RequestError: if its networks give no states.
    """
    import torch

    plain = parse_instance(name)[0]
    spec = host.models.get(plain)[0].spec
    options = {key: facts["default"] for key, facts in option_facts(spec).items()}
    yield Check(f"model {name}", f"is {spec.summary}, the model {display(plain, options)}")
    found: dict[str, nn.Module] = {}
    refused = {}
    for objective in (entry.spec.name for entry in host.objectives.all()):
        task = trial_task(host, objective)
        with torch.random.fork_rng(devices=[]):
            try:
                found |= {objective: host.network(name, host.task(task))} if task else {}
            except MissingPackageError:
                continue
            except RequestError as error:
                refused[objective] = error
    if not found:
        raise next(iter(refused.values()))
    traits = traits_of(next(iter(found.values())))
    yield Check(f"model {name}", f"gives states (B, N, {traits.width}) of ids (B, N)")
    yield Check(f"model {name}", f"can do {', '.join(found)}")
    for objective, refusal in refused.items():
        yield Check(f"model {name}", f"cannot do {objective}: {str(refusal).partition(': ')[2]}")
    if not traits.vmap:
        why = "torch.func.vmap does not take it, so on a GPU they train one after another"
        yield Check(f"model {name}", f"cannot train several runs as one program: {why}")
