"""The PyTorch model against a recorded case of tests/reference: checks that the timed model is the same.

`tidemark check-reference` compares tidemark with the same files, so two programs that both agree
with them compute the same loss, gradients and AdamW steps.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import pytorch_model
from shapes import Shape

# fp32 against float64 records: rounding of a tiny model is near 1e-6 in the L2 norm. The moved
# parameters are wider, because AdamW turns the sign of a gradient of almost 0 into a whole step.
TOLERANCE = {"loss": 1e-5, "gradients": 1e-5, "loss_after": 1e-5, "moved": 1e-2}

DTYPES = {"F32": torch.float32, "I32": torch.int32}


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a file."""
    raw = path.read_bytes()
    try:
        (n_bytes,) = struct.unpack_from("<Q", raw)
        header = json.loads(raw[8 : 8 + n_bytes])
        metadata = header.pop("__metadata__")
        tensors = {}
        for name, entry in header.items():
            begin, end = (8 + n_bytes + at for at in entry["data_offsets"])
            data = torch.frombuffer(bytearray(raw[begin:end]), dtype=DTYPES[entry["dtype"]])
            tensors[name] = data.reshape(entry["shape"])
    except (struct.error, KeyError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path} is no recorded case of tests/reference: {error!r}") from error
    return tensors, metadata


def shape_of(metadata: dict[str, str]) -> Shape:
    """The shape that a file was recorded with."""
    return Shape(
        d_model=int(metadata["d_model"]),
        layers=int(metadata["num_layers"]),
        heads=int(metadata["num_heads"]),
        d_ff=int(metadata["d_ff"]),
        vocab=int(metadata["vocab_size"]),
        batch=int(metadata["batch_size"]),
        context=int(metadata["context_length"]),
        rope_theta=float(metadata["rope_theta"]),
    )


def relative(value: Tensor, expected: Tensor) -> float:
    """The error in the L2 norm over the expected norm; the error itself where that is 0."""
    scale = expected.double().norm().item()
    return (value.double() - expected.double()).norm().item() / (scale or 1.0)


def errors_of_case(
    tensors: dict[str, Tensor], metadata: dict[str, str], attention: str, in_place: bool
) -> dict[str, float]:
    """Runs the recorded steps; the largest relative error of each kind."""
    model = pytorch_model.Transformer(shape_of(metadata), attention)
    parameters = dict(model.named_parameters())
    model.load_state_dict({name: tensors["param/" + name] for name in parameters})
    optimizer = pytorch_model.AdamW(
        parameters.values(),
        lr=float(metadata["lr"]),
        betas=(float(metadata["beta1"]), float(metadata["beta2"])),
        eps=float(metadata["eps"]),
        weight_decay=float(metadata["weight_decay"]),
        in_place=in_place,
    )
    tokens, targets = tensors["input/tokens"].long(), tensors["input/targets"].long()
    errors = {}
    for step in range(int(metadata["steps"])):
        optimizer.zero_grad()
        loss = pytorch_model.mean_loss(model(tokens), targets)
        loss.backward()
        if step == 0:
            errors["loss"] = relative(loss.detach(), tensors["expect/loss"][0])
            errors["gradients"] = max(
                relative(parameter.grad, tensors["expect/grad/" + name])
                for name, parameter in parameters.items()
            )
        optimizer.step()
    with torch.no_grad():
        after = pytorch_model.mean_loss(model(tokens), targets)
    errors["loss_after"] = relative(after, tensors["expect/loss_after"][0])
    errors["moved"] = max(
        relative(
            parameter.detach() - tensors["param/" + name],
            tensors["expect/param/" + name] - tensors["param/" + name],
        )
        for name, parameter in parameters.items()
    )
    return errors


def check(path: Path, attention: str) -> dict[str, Any]:
    """Errors of both forms of the optimizer; "agrees" says whether all are within TOLERANCE."""
    tensors, metadata = read_safetensors(path)
    if metadata["precision"] != "fp32":
        raise ValueError(f"{path} was recorded in {metadata['precision']}: give a file in fp32")
    errors = {
        form: errors_of_case(tensors, metadata, attention, form == "in-place")
        for form in pytorch_model.OPTIMIZERS
    }
    agrees = all(
        error <= TOLERANCE[what] for found in errors.values() for what, error in found.items()
    )
    return {"file": path.name, "agrees": agrees, "errors": errors}
