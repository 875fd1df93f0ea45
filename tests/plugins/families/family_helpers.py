"""The linear recurrences by name, small and with generic parameters."""

from __future__ import annotations

import torch
from formalbench.host.host import load
from formalbench.host.options import make_config
from formalbench_models.families.catalogue import LINEAR_RECURRENCES
from model_helpers import fake_task, shaken

SPECS = {spec.name: spec for spec in LINEAR_RECURRENCES}


def build(name, options, **more):
    torch.manual_seed(1)
    spec = SPECS[name]
    config = make_config(spec, {"width": 8, "chunk": 4} | options | more)
    return shaken(load(spec.factory)(fake_task(), config))
