"""§5.3: the optimizers of a run behind one interface, with state stored without pickling."""

from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from model.errors import TrainingError
from model.training.update.muon import Muon
from model.training.update.processes import ALONE, Processes


class Table(BaseModel):
    """A table of a recipe: immutable; unknown keys are rejected, numbers must be finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class OptimizerConfig(Table):
    """`adam` with the paper's settings (§5.3), or `muon` (Jordan et al. 2024) for layers' matrices.

    Muon orthogonalises each matrix's momentum; embeddings, norms and biases use Adam. Its steps
    are scaled to Adam's usual size, so that both share one learning rate.
    """

    kind: Literal["adam", "muon"] = "adam"
    beta_1: float = Field(0.9, ge=0, lt=1)
    beta_2: float = Field(0.98, ge=0, lt=1)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    vector_rate: float = Field(
        1.0, gt=0, description="learning rate of gains and biases, as a multiple of the others'"
    )
    clip_norm: float = Field(0.0, ge=0, description="maximum gradient norm; 0: no clipping")


class ScheduleConfig(Table):
    """The length of the run, and its learning rate.

    `inverse_sqrt` is equation 3 of the paper, times `peak`: peak · d_model^−½ · min(step^−½,
    step · warmup_steps^−1.5). `trapezoid` rises linearly to `peak` within `warmup_steps`, stays
    constant, and falls linearly to 0 over the last `decay_steps` of `steps`; a run can be extended
    from any point before its decay.
    """

    shape: Literal["inverse_sqrt", "trapezoid"] = "inverse_sqrt"
    peak: float = Field(1.0, gt=0)
    warmup_steps: int = Field(4000, gt=0)
    steps: int = Field(100_000, gt=0, description="total number of updates")
    decay_steps: int = Field(0, ge=0, description="trapezoid only")

    def learning_rate(self, step: int, d_model: int) -> float:
        """Return the rate of update number `step`, counted from 1."""
        if self.shape == "inverse_sqrt":
            warm = step * self.warmup_steps**-1.5
            return float(self.peak * d_model**-0.5 * min(step**-0.5, warm))
        rise = step / self.warmup_steps
        fall = (self.steps + 1 - step) / max(1, self.decay_steps)
        return float(self.peak * max(0.0, min(1.0, rise, fall)))


class Optimizer:
    """One or two torch optimizers that together cover each parameter of a model once."""

    def __init__(
        self,
        model: nn.Module,
        config: OptimizerConfig,
        dtype: torch.dtype = torch.bfloat16,
        processes: Processes = ALONE,
    ) -> None:
        """`dtype` is the type of Muon's products."""
        matrices: list[nn.Parameter] = []
        tables: list[nn.Parameter] = []
        vectors: list[nn.Parameter] = []
        for name, parameter in model.named_parameters():
            is_layer_matrix = parameter.dim() == 2 and "layers." in name
            in_muon = config.kind == "muon" and is_layer_matrix
            by_adam = tables if parameter.dim() == 2 else vectors
            (matrices if in_muon else by_adam).append(parameter)
        groups = [
            {"params": tables, "scale": 1.0},
            {"params": vectors, "scale": config.vector_rate},
        ]
        self._parts: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(
                groups, betas=(config.beta_1, config.beta_2), eps=config.epsilon,
                weight_decay=config.weight_decay if config.kind == "adam" else 0.0, fused=True,
            )
        ]  # fmt: skip
        if matrices:
            self._parts.append(
                Muon(matrices, weight_decay=config.weight_decay, dtype=dtype, processes=processes)
            )
        self._parameters = tables + vectors + matrices
        self._clip_norm = config.clip_norm

    def gradients(self) -> list[Tensor]:
        """Return the gradient of each parameter; zeros where the loss did not reach it."""
        for parameter in self._parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self._parameters if parameter.grad is not None]

    def clip(self) -> float:
        """Scale the gradients down to `clip_norm`, if set; return their norm before scaling."""
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        if self._clip_norm:
            nn.utils.clip_grads_with_norm_(self._parameters, self._clip_norm, norm)
        return norm.item()

    def step(self, learning_rate: float) -> None:
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = learning_rate * group.get("scale", 1.0)
            part.step()
            part.zero_grad()

    def state_tensors(self) -> dict[str, Tensor]:
        """Return all moments and counters by name."""
        return {
            f"{number}.{index}.{name}": torch.as_tensor(value)
            for number, part in enumerate(self._parts)
            for index, values in part.state_dict()["state"].items()
            for name, value in values.items()
        }

    def load_state_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Load the result of `state_tensors`. Raises `TrainingError` if it is of another model."""
        states: list[dict[int, dict[str, Any]]] = [{} for _ in self._parts]
        for key, tensor in tensors.items():
            try:
                number, index, name = key.split(".", 2)
                states[int(number)].setdefault(int(index), {})[name] = tensor
            except (ValueError, IndexError):
                raise TrainingError(f"optimizer state has an unknown tensor '{key}'") from None
        for part, state in zip(self._parts, states, strict=True):
            _check_fits(part, state)
            part.load_state_dict(part.state_dict() | {"state": state})


def _check_fits(part: torch.optim.Optimizer, state: dict[int, dict[str, Any]]) -> None:
    """Check that, after a step, each parameter has a state with moments of its shape."""
    parameters = [parameter for group in part.param_groups for parameter in group["params"]]
    fits = not state or (
        state.keys() == set(range(len(parameters)))
        and all(
            tensor.dim() == 0 or tensor.shape == parameters[index].shape
            for index, tensors in state.items()
            for tensor in tensors.values()
        )
    )
    if not fits:
        raise TrainingError("optimizer state is of another model")
