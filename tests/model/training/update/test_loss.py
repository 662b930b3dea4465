import pytest
import torch
from torch import Tensor
from torch.nn import functional

from model.training.update import loss
from model.training.update.loss import smoothed_cross_entropy
from model.transformer.embedding import OutputProjection

N, D, V = 13, 8, 20


def inputs(*, bias: bool) -> tuple[Tensor, OutputProjection, Tensor]:
    torch.manual_seed(3)
    output = OutputProjection(V, D, bias)
    torch.nn.init.normal_(output.weight)
    if output.bias is not None:
        torch.nn.init.normal_(output.bias)
    return torch.randn(N, D, requires_grad=True), output, torch.randint(0, V, (N,))


def gradients(value: Tensor, hidden: Tensor, output: OutputProjection) -> list[Tensor]:
    variables = [hidden, *output.parameters()]
    return list(torch.autograd.grad(value, variables))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rows_at_a_time", [1, 5, N, 1000])
def test_equals_torch_in_value_and_gradients(
    monkeypatch: pytest.MonkeyPatch, smoothing: float, bias: bool, rows_at_a_time: int
) -> None:
    monkeypatch.setattr(loss, "_CHUNK_LOGITS", rows_at_a_time * V)
    hidden, output, targets = inputs(bias=bias)
    logits = output(hidden)
    expected = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    plain = functional.cross_entropy(logits, targets, reduction="sum")
    found = smoothed_cross_entropy(hidden, output, targets, smoothing)
    torch.testing.assert_close(found.smoothed, expected)
    torch.testing.assert_close(found.cross_entropy, plain)
    torch.testing.assert_close(
        gradients(found.smoothed * 3, hidden, output), gradients(expected * 3, hidden, output)
    )


@pytest.mark.parametrize("bias", [False, True])
def test_under_bf16_autocast_it_is_torch_to_bf16_precision(bias: bool) -> None:
    hidden, output, targets = inputs(bias=bias)
    expected = functional.cross_entropy(
        output(hidden), targets, reduction="sum", label_smoothing=0.1
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = smoothed_cross_entropy(hidden, output, targets, 0.1)
    assert found.smoothed.dtype == torch.float32
    torch.testing.assert_close(found.smoothed, expected, rtol=1e-2, atol=0.0)
    for ours, theirs in zip(
        gradients(found.smoothed, hidden, output), gradients(expected, hidden, output), strict=True
    ):
        assert ours.dtype == torch.float32
        assert (ours - theirs).norm() < 0.02 * theirs.norm()


@pytest.mark.parametrize("bias", [False, True])
def test_a_sampled_softmax_is_differentiated_as_it_is_computed(bias: bool) -> None:
    hidden, output, targets = inputs(bias=bias)
    sample, multiplicity = sampled(targets, candidates=15)
    found = smoothed_cross_entropy(hidden, output, targets, 0.1, candidates=15)
    logits = output(hidden)[:, sample]
    normaliser = (logits + multiplicity.log()).logsumexp(1)
    nll = normaliser - output(hidden).gather(1, targets[:, None])[:, 0]
    mean = (logits * multiplicity).sum(1) / V
    expected = (0.9 * nll + 0.1 * (normaliser - mean)).sum()
    torch.testing.assert_close(found.smoothed, expected)
    torch.testing.assert_close(found.cross_entropy, nll.sum())
    torch.testing.assert_close(
        gradients(found.smoothed, hidden, output), gradients(expected, hidden, output)
    )


def sampled(targets: Tensor, candidates: int) -> tuple[Tensor, Tensor]:
    """Return the sample of the next loss, without consuming its random numbers."""
    torch.manual_seed(5)
    found = loss._sample(targets, V, candidates)
    torch.manual_seed(5)
    return found


@pytest.mark.parametrize("candidates", [1, 10, 15, V - 1])
def test_a_sample_has_every_target_and_stands_for_the_whole_vocabulary(candidates: int) -> None:
    targets = torch.tensor([3, 3, 19, 0, 7])
    sample, multiplicity = sampled(targets, candidates)
    assert sample.tolist() == sorted(set(sample.tolist()))
    assert len(sample) == max(candidates, 4 + 1)
    assert set(targets.tolist()) <= set(sample.tolist())
    torch.testing.assert_close(multiplicity.sum(), torch.tensor(float(V)))
    assert all(
        share == 1
        for token, share in zip(sample.tolist(), multiplicity.tolist(), strict=True)
        if token in targets.tolist()
    )


@pytest.mark.parametrize("candidates", [0, V, V + 1, 2])
def test_a_sample_of_everything_is_the_whole_vocabulary(candidates: int) -> None:
    hidden, output, _ = inputs(bias=True)
    targets = torch.arange(V)
    hidden = hidden[:1].expand(V, D)
    expected = smoothed_cross_entropy(hidden, output, targets, 0.1)
    found = smoothed_cross_entropy(hidden, output, targets, 0.1, candidates)
    torch.testing.assert_close(found.smoothed, expected.smoothed)


def test_the_mean_of_sampled_normalisers_is_the_normaliser() -> None:
    hidden, output, targets = inputs(bias=True)
    whole = output(hidden).exp().sum(1)
    estimates = []
    for seed in range(400):
        torch.manual_seed(seed)
        sample, multiplicity = loss._sample(targets, V, 16)
        estimates.append((output(hidden)[:, sample].exp() * multiplicity).sum(1))
    torch.testing.assert_close(torch.stack(estimates).mean(0), whole, rtol=0.1, atol=0.0)


def test_cross_entropy_alone_cannot_be_differentiated() -> None:
    hidden, output, targets = inputs(bias=False)
    assert not smoothed_cross_entropy(hidden, output, targets, 0.1).cross_entropy.requires_grad
