import itertools
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from model.transformer.attention import MultiHeadAttention
from model.transformer.config import PRESETS, TransformerConfig
from model.transformer.decoder import DecoderLayer
from model.transformer.encoder import EncoderLayer
from model.transformer.transformer import AttentionRecord, Transformer
from tests.model.make_model import MakeModel

NormOrder = Literal["post", "pre"]
NORM_ORDERS: list[NormOrder] = ["post", "pre"]
PAD = 0

SOURCE = torch.tensor([[5, 6, 7, 8, 9, 1], [4, 1, PAD, PAD, PAD, PAD], [3, 3, 4, 1, PAD, PAD]])
TARGET = torch.tensor([[2, 5, 6, 7, 8], [2, 9, PAD, PAD, PAD], [2, 3, 4, 5, PAD]])


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    projections = (ours.w_q, ours.w_k, ours.w_v)
    theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in projections]))
    theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in projections]))
    theirs.out_proj.load_state_dict(ours.w_o.state_dict())


def copy_encoder_layer(ours: EncoderLayer, theirs: nn.Module) -> None:
    assert isinstance(theirs, nn.TransformerEncoderLayer)
    copy_attention(ours.self_attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.w_1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.w_2.state_dict())
    theirs.norm1.load_state_dict(ours.attention_sublayer.norm.state_dict())
    theirs.norm2.load_state_dict(ours.feed_forward_sublayer.norm.state_dict())


def copy_decoder_layer(ours: DecoderLayer, theirs: nn.Module) -> None:
    assert isinstance(theirs, nn.TransformerDecoderLayer)
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.w_1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.w_2.state_dict())
    theirs.norm1.load_state_dict(ours.self_attention_sublayer.norm.state_dict())
    theirs.norm2.load_state_dict(ours.cross_attention_sublayer.norm.state_dict())
    theirs.norm3.load_state_dict(ours.feed_forward_sublayer.norm.state_dict())


@torch.no_grad()
def torch_transformer(model: Transformer) -> nn.Transformer:
    """The library's own Transformer with the same weights; without final norms for post-norm."""
    config = model.config
    pre_norm = config.norm_order == "pre"
    shape = (config.d_model, config.n_heads, config.d_ff, 0.0)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(*shape, batch_first=True, norm_first=pre_norm),
        config.n_encoder_layers,
        nn.LayerNorm(config.d_model) if pre_norm else None,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(*shape, batch_first=True, norm_first=pre_norm),
        config.n_decoder_layers,
        nn.LayerNorm(config.d_model) if pre_norm else None,
    )
    # Made before the weights are copied: its constructor draws them anew.
    whole = nn.Transformer(
        config.d_model, config.n_heads, custom_encoder=encoder, custom_decoder=decoder,
        batch_first=True,
    )  # fmt: skip
    for ours, theirs in zip(model.encoder.layers, encoder.layers, strict=True):
        copy_encoder_layer(ours, theirs)
    for our_layer, their_layer in zip(model.decoder.layers, decoder.layers, strict=True):
        copy_decoder_layer(our_layer, their_layer)
    for our_norm, their_norm in (
        (model.encoder.norm, encoder.norm),
        (model.decoder.norm, decoder.norm),
    ):
        if their_norm is not None:
            their_norm.load_state_dict(our_norm.state_dict())
    return whole


@pytest.fixture(params=NORM_ORDERS)
def either_order(request: pytest.FixtureRequest, make_model: MakeModel) -> Transformer:
    return make_model(norm_order=request.param)


@torch.no_grad()
def test_equals_torch_transformer_with_copied_weights(either_order: Transformer) -> None:
    model = either_order
    padding = SOURCE == PAD
    oracle = torch_transformer(model)
    expected = oracle(
        model.positions(model.source_embedding(SOURCE)),
        model.positions(model.target_embedding(TARGET)),
        tgt_mask=torch.ones(TARGET.shape[1], TARGET.shape[1], dtype=torch.bool).triu(1),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
        tgt_is_causal=True,
    )
    hidden = model.decode(model.encode(SOURCE), TARGET)
    real = TARGET != PAD
    torch.testing.assert_close(hidden[real], expected[real], atol=1e-5, rtol=0)
    assert hidden[real].std() > 0.1, "a comparison of near-zeros would show nothing"


@torch.no_grad()
def test_a_changed_future_token_changes_no_earlier_output(either_order: Transformer) -> None:
    model = either_order
    before = model(SOURCE[:1], TARGET[:1])
    for position in range(1, TARGET.shape[1]):
        changed = TARGET[:1].clone()
        changed[0, position] = 11
        after = model(SOURCE[:1], changed)
        assert torch.equal(after[:, :position], before[:, :position])
        assert not torch.allclose(after[:, position], before[:, position])


@torch.no_grad()
def test_right_padding_of_source_and_target_changes_nothing(either_order: Transformer) -> None:
    model = either_order
    together = model(SOURCE, TARGET)
    for row in range(len(SOURCE)):
        n_source = int((SOURCE[row] != PAD).sum())
        n_target = int((TARGET[row] != PAD).sum())
        alone = model(SOURCE[row : row + 1, :n_source], TARGET[row : row + 1, :n_target])
        torch.testing.assert_close(together[row, :n_target], alone[0], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_every_real_source_token_changes_the_output(make_model: MakeModel) -> None:
    model = make_model()
    before = model(SOURCE[:1], TARGET[:1])
    for position in range(SOURCE.shape[1]):
        changed = SOURCE[:1].clone()
        changed[0, position] = 11
        assert not torch.allclose(model(changed, TARGET[:1]), before)


@pytest.mark.parametrize("norm_order", NORM_ORDERS)
@pytest.mark.parametrize("start_id", [2, PAD])
@torch.no_grad()
def test_cache_equals_teacher_forcing(
    make_model: MakeModel, norm_order: NormOrder, start_id: int
) -> None:
    model = make_model(norm_order=norm_order, start_id=start_id)
    target = torch.randint(1, 12, (len(SOURCE), 10))
    target[:, 0] = start_id
    expected = model(SOURCE, target)
    cache = model.start(model.encode(SOURCE))
    for position in range(target.shape[1]):
        assert cache.length == position
        logits = model.step(target[:, position], cache)
        torch.testing.assert_close(logits, expected[:, position], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_cache_follows_its_rows(make_model: MakeModel) -> None:
    model = make_model()
    prefixes = torch.tensor([[2, 5], [2, 6], [2, 7]])
    cache = model.start(model.encode(SOURCE))
    for position in range(2):
        model.step(prefixes[:, position], cache)
    rows = torch.tensor([2, 0, 0])
    selected = cache.select(rows)
    assert selected.length == 2
    latest = torch.tensor([8, 9, 10])
    logits = model.step(latest, selected)
    expected = model(SOURCE[rows], torch.cat((prefixes[rows], latest[:, None]), dim=1))[:, -1]
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    assert cache.length == 2, "the cache selected from stays as it was"
    torch.testing.assert_close(
        model.step(latest, cache),
        model(SOURCE, torch.cat((prefixes, latest[:, None]), dim=1))[:, -1],
        atol=1e-5, rtol=1e-5,
    )  # fmt: skip


@torch.no_grad()
def test_hypotheses_of_one_sentence_can_swap_their_past(make_model: MakeModel) -> None:
    model = make_model()
    one = SOURCE[:1].expand(2, -1)
    cache = model.start(model.encode(one))
    model.step(torch.tensor([2, 2]), cache)
    model.step(torch.tensor([5, 6]), cache)
    cache.reorder(torch.tensor([1, 1]))
    logits = model.step(torch.tensor([7, 8]), cache)
    expected = model(one, torch.tensor([[2, 6, 7], [2, 6, 8]]))[:, -1]
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_record_holds_every_layer_and_does_not_change_the_output(make_model: MakeModel) -> None:
    model = make_model()
    record = AttentionRecord()
    memory = model.encode(SOURCE, record)
    hidden = model.decode(memory, TARGET, record)
    plain = model.encode(SOURCE)
    torch.testing.assert_close(memory.states, plain.states, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(hidden, model.decode(plain, TARGET), atol=1e-5, rtol=1e-5)
    config = model.config
    n_source, n_target = SOURCE.shape[1], TARGET.shape[1]
    for weights, n_layers, shape in (
        (record.encoder, config.n_encoder_layers, (n_source, n_source)),
        (record.decoder, config.n_decoder_layers, (n_target, n_target)),
        (record.cross, config.n_decoder_layers, (n_target, n_source)),
    ):
        assert len(weights) == n_layers
        for layer in weights:
            assert layer.shape == (len(SOURCE), config.n_heads, *shape)
            torch.testing.assert_close(layer.sum(-1), torch.ones(layer.shape[:-1]))
    for one, other in itertools.pairwise(record.cross):
        assert not torch.allclose(one, other)
    padding = (SOURCE == PAD)[:, None, None, :]
    for layer in (*record.encoder, *record.cross):
        assert (layer[padding.expand_as(layer)] == 0).all()
    for layer in record.decoder:
        assert (layer.triu(1) == 0).all()


def test_only_the_requested_attentions_are_recorded(make_model: MakeModel) -> None:
    model = make_model()
    record = AttentionRecord()
    model.decode(model.encode(SOURCE), TARGET, record)
    assert not record.encoder
    assert record.cross


@torch.no_grad()
def test_logits_of_a_tied_output_are_products_with_the_embedding(make_model: MakeModel) -> None:
    model = make_model(output_bias=True)
    memory = model.encode(SOURCE)
    assert model.output.bias is not None
    expected = model.decode(memory, TARGET) @ model.target_embedding.weight.T + model.output.bias
    torch.testing.assert_close(model(SOURCE, TARGET), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("tie", [True, False])
def test_sharing_and_tying_are_configured(make_model: MakeModel, share: bool, tie: bool) -> None:
    model = make_model(share_embeddings=share, tie_output=tie)
    assert (model.source_embedding is model.target_embedding) == share
    assert (model.output.weight is model.target_embedding.weight) == tie
    assert model.n_parameters() == formula(model.config)


def test_sides_may_have_vocabularies_of_their_own(make_model: MakeModel) -> None:
    model = make_model(share_embeddings=False, source_vocab_size=20)
    assert model(torch.tensor([[19, 1]]), torch.tensor([[2, 11]])).shape == (1, 2, 12)


def test_a_fresh_model_has_a_zero_padding_row_and_zero_biases() -> None:
    model = Transformer(PRESETS["tiny"].model_copy(update={"output_bias": True, "pad_id": 3}))
    weight = model.source_embedding.weight
    assert (weight[3] == 0).all()
    assert weight[4:].std().item() == pytest.approx(32**-0.5, rel=0.1)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all(), name
    assert torch.equal(
        model.encode(torch.tensor([[4, 1, 3]])).mask, torch.tensor([[[[True, True, False]]]])
    )


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("tie", [True, False])
def test_materialise_keeps_ties(make_model: MakeModel, share: bool, tie: bool) -> None:
    model = make_model(share_embeddings=share, tie_output=tie)
    with torch.device("meta"):
        copy = Transformer(model.config)
    copy.materialise(torch.device("cpu"))
    copy.load_state_dict(dict(model.named_parameters()), strict=False)
    assert copy.n_parameters() == model.n_parameters()
    with torch.no_grad():
        assert torch.equal(copy.eval()(SOURCE, TARGET), model(SOURCE, TARGET))


def formula(config: TransformerConfig) -> int:
    """Count the parameters from the paper's sizes, including biases and norms."""
    d_model, d_ff = config.d_model, config.d_ff
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = config.n_encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.n_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    final = 2 * norm if config.norm_order == "pre" else 0
    embeddings = config.source_vocab_size * d_model
    if not config.share_embeddings:
        embeddings += config.target_vocab_size * d_model
    if not config.tie_output:
        embeddings += config.target_vocab_size * d_model
    if config.output_bias:
        embeddings += config.target_vocab_size
    return encoder + decoder + final + embeddings


@pytest.mark.parametrize(
    ("preset", "parameters"),
    # Table 3 rounds to 65 and 213 million.
    [("tiny", 44_800), ("base", 63_082_496), ("big", 214_245_376)],
)
def test_presets_have_the_size_of_the_paper(preset: str, parameters: int) -> None:
    with torch.device("meta"):
        model = Transformer(PRESETS[preset])
    assert model.n_parameters() == formula(PRESETS[preset]) == parameters


def test_the_device_is_that_of_the_parameters(make_model: MakeModel) -> None:
    assert make_model().device.type == "cpu"
    with torch.device("meta"):
        assert Transformer(PRESETS["tiny"]).device.type == "meta"


def test_parameter_names_are_stable(make_model: MakeModel) -> None:
    # Saved states and checkpoints depend on these names.
    names = [name for name, _ in make_model(n_encoder_layers=1, n_decoder_layers=1,
                                            norm_order="pre").named_parameters()]  # fmt: skip
    attention = [f"{w}.{kind}" for w in ("w_q", "w_k", "w_v", "w_o") for kind in ("weight", "bias")]
    network = ["w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias"]
    expected = ["source_embedding.weight"]
    for stack, attentions, sublayers in (
        ("encoder", ["self_attention"], ["attention", "feed_forward"]),
        ("decoder", ["self_attention", "cross_attention"],
         ["self_attention", "cross_attention", "feed_forward"]),
    ):  # fmt: skip
        layer = f"{stack}.layers.0"
        expected += [f"{layer}.{module}.{name}" for module in attentions for name in attention]
        expected += [f"{layer}.feed_forward.{name}" for name in network]
        expected += [
            f"{layer}.{sublayer}_sublayer.norm.{kind}"
            for sublayer in sublayers
            for kind in ("weight", "bias")
        ]
        expected += [f"{stack}.norm.weight", f"{stack}.norm.bias"]
    assert names == expected


def test_gradients_reach_every_parameter(make_model: MakeModel) -> None:
    model = make_model(output_bias=True, share_embeddings=False, tie_output=False)
    logits: Tensor = model(SOURCE, TARGET)
    logits.log_softmax(-1)[..., 3].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        # A bias on the keys adds the same to every score of a row, so softmax cancels it.
        if not name.endswith("w_k.bias"):
            assert parameter.grad.abs().max() > 1e-6, name
