"""Locates the cause of a divergence: the first tensor that is not finite."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def parameter_not_finite(model: nn.Module) -> str | None:
    """Name the first parameter that is not finite, if any."""
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            return f"parameter {name}"
    return None


@torch.no_grad()
def first_not_finite(model: nn.Module, forward: Callable[[], object]) -> str:
    """Name a parameter, else the output of a module during `forward()`, else a gradient.

    This order goes from cause to effect: a non-finite parameter affects all later outputs, and an
    output all gradients before it.
    """
    if parameter := parameter_not_finite(model):
        return parameter
    if outputs := _outputs_not_finite(model, forward):
        return f"the output of {outputs[0]}"
    for name, weight in model.named_parameters():
        if weight.grad is not None and not weight.grad.isfinite().all():
            return f"the gradient of {name}"
    return "the loss itself"


def _outputs_not_finite(model: nn.Module, forward: Callable[[], object]) -> list[str]:
    found: list[str] = []

    def watch(name: str) -> Callable[[nn.Module, object, object], None]:
        def look(_module: nn.Module, _inputs: object, output: object) -> None:
            if isinstance(output, Tensor) and not output.isfinite().all():
                found.append(name)

        return look

    hooks = [
        module.register_forward_hook(watch(name)) for name, module in model.named_modules() if name
    ]
    try:
        forward()
    finally:
        for hook in hooks:
            hook.remove()
    return found
