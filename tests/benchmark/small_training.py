"""A protocol that takes a blink, and where it trains."""

import torch
from formalbench.contracts.protocol import Protocol

CPU = torch.device("cpu")


def protocol(**change):
    return Protocol.model_validate(
        {
            "name": "tiny",
            "version": 1,
            "steps": 40,
            "batch": 8,
            "evaluate_every": 10,
            "decay": {"steps": 20, "final": 0.1},
            "validation": {"every": 10, "lengths": 3, "strings": 8},
            "test": {"lengths": 3, "strings": 8},
            **change,
        }
    )
