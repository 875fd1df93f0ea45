"""A training step of the causal and the masked model against Hugging Face `transformers`.

Both have the same shape, learned positions, no dropout and random weights; each step is a forward
pass, a backward pass and a step of Adam on the same tokens. Ours is the engine's own step, which
also counts right answers and clips gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from formalbench import Example
from formalbench.contracts.protocol import Protocol
from formalbench.host import PluginHost
from formalbench.training.gradients import SequentialGradients
from formalbench.training.parameters import Rows, make_update
from formalbench.training.step import Group, StepInputs
from formalbench.training.trainer import resolve_protocol
from harness import Comparison, compare

LAYERS, HEADS = 4, 4
SHAPES = ((128, 32, 128), (256, 8, 512), (256, 2, 1024))
"""Width, windows and tokens of each."""

HOST = PluginHost.load()
PROTOCOL = Protocol(name="speed", version=1)


def ours(objective: str, width: int, example: Example) -> Callable[[], None]:
    """Return a step of the engine."""
    length = example.inputs.shape[1]
    task = HOST.task(f"tiny:{objective}").at_lengths((length, length), (length, length))
    options = {"width": width, "heads": HEADS, "layers": LAYERS, "positions": "learned"}
    options["causal"] = objective == "causal-lm"
    torch.manual_seed(0)
    network = HOST.network("transformer", task, options)
    optimiser = resolve_protocol(HOST, PROTOCOL).optimiser
    program, update = SequentialGradients([network], task), make_update(optimiser, 1.0, network)
    rows = Rows.start(program.layout.stack([network]), optimiser)
    group = Group([0], program, rows, update)
    rate, scalars = torch.full((1, 1), 1e-3), torch.tensor(optimiser.scalars(1))
    one = example.map(lambda part: part[None])
    return lambda: group.step(StepInputs((one,), rate, scalars), [0])


def theirs(objective: str, width: int, example: Example) -> Callable[[], None]:
    """Return a step of the library's model."""
    import transformers

    length, kinds = example.inputs.shape[1], len(HOST.task(f"tiny:{objective}").alphabet)
    torch.manual_seed(0)
    if objective == "causal-lm":
        config: Any = transformers.GPT2Config(
            vocab_size=kinds, n_positions=length, n_embd=width, n_layer=LAYERS, n_head=HEADS,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
        )  # fmt: skip
        model: Any = transformers.GPT2LMHeadModel(config)
        labels = example.inputs  # which it shifts itself
    else:
        config = transformers.RobertaConfig(
            vocab_size=kinds, max_position_embeddings=length + 2, hidden_size=width,
            num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=4 * width,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=1,
        )  # fmt: skip
        model = transformers.RobertaForMaskedLM(config)
        labels = example.targets.where(example.scored, -100)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        model(input_ids=example.inputs, labels=labels).loss.backward()
        optimiser.step()

    return step


def measure() -> list[Comparison]:
    """Compare steps on windows of random bytes."""
    rows = []
    for objective, model in (("causal-lm", "GPT2LMHeadModel"), ("masked-lm", "RobertaForMaskedLM")):
        for width, count, length in SHAPES:
            tokens = torch.randint(32, 127, (count, length))
            task = HOST.task(f"tiny:{objective}")
            example = task.examples(tokens.numpy()).map(torch.from_numpy)
            programs = [
                (name, make(objective, width, example))
                for name, make in ((objective, ours), (model, theirs))
            ]
            shape = f"width {width}, {LAYERS} layers, {count} windows of {length} tokens"
            rows.append(compare(*programs, f"training step, {shape}"))
    return rows


def report() -> str:
    """Return the table, with tokens per second beside it."""
    from harness import table

    rows = measure()
    lines = []
    for row, (_, count, length) in zip(rows, SHAPES * 2, strict=True):
        speeds = [count * length / seconds for seconds in (row.seconds_a, row.seconds_b)]
        ours_, theirs_ = (f"{speed:,.0f}" for speed in speeds)
        lines.append(f"- {row.a}, {row.inputs}: {ours_} tokens per second against {theirs_}")
    return "\n".join([table(rows), *lines])
