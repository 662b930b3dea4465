"""Starts a run from the weights and vocabulary of a checkpoint instead of random weights.

The vocabulary and tensors of a checkpoint of the same shape are copied. A run of another depth or
vocabulary can adapt them: additional layers start as identities (their output projections are zero,
so that a pre-norm layer adds nothing to the residual stream; Chen et al. 2016, Net2Net), and new
pieces start as the mean of the old pieces that spell them.
"""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from model.checkpoint.reader import Checkpoint
from model.errors import TrainingError
from model.text.marian_tokenizer import MARIAN_ENDS, MarianTokenizer
from model.text.text_codec import TrainingCodec
from model.text.tokenizer import Tokenizer
from model.training.config import TrainingConfig
from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig
from model.transformer.transformer import Transformer

_DEPTHS = ("n_encoder_layers", "n_decoder_layers")
_FROM_VOCABULARY = ("source_vocab_size", "target_vocab_size", "pad_id", "eos_id", "start_id")
_WITHOUT_WEIGHTS = ("dropout", "max_length")
_ZEROED = (
    *(attention.w_o for attention in names.attentions(names.DECODER)),
    names.FEED_FORWARD.w_2,
)


@dataclass(frozen=True)
class WarmStart:
    """A checkpoint to start from; `adapt` allows another depth and vocabulary."""

    origin: Checkpoint
    adapt: bool = False

    def vocabulary(self, config: TrainingConfig) -> TrainingCodec | None:
        """Return the checkpoint's vocabulary, or None to learn one. Raises `TrainingError`."""
        if self.adapt:
            return None
        tokenizer, folder = self.origin.tokenizer, self.origin.folder
        if not isinstance(tokenizer, Tokenizer | MarianTokenizer):
            raise TrainingError(
                f"{folder}: has the vocabulary of M2M-100 or NLLB, which cannot be trained; "
                f"attend's own and Marian's models can"
            )
        if isinstance(tokenizer, MarianTokenizer):
            if tokenizer.ends != MARIAN_ENDS or tokenizer.moses:
                raise TrainingError(
                    f"{folder}: its sources do not end with </s> alone, as in training, or Moses's "
                    f"rules split them; only models such as Marian's can be trained"
                )
            self._check_imported(config)
        vocab_size = config.tokenizer.vocab_size
        if vocab_size and vocab_size != tokenizer.target_vocab_size:
            raise TrainingError(
                f"{folder}: has {tokenizer.target_vocab_size} pieces, the recipe's "
                f"tokenizer.vocab_size is {vocab_size}; omit it, or adapt the checkpoint to a new "
                f"vocabulary"
            )
        return tokenizer

    def _check_imported(self, config: TrainingConfig) -> None:
        """Raise `TrainingError` if the recipe needs more than an imported vocabulary has."""
        folder, directions = self.origin.folder, list(self.origin.config.directions)
        if odd := sorted(config.all_directions - set(directions)):
            has = ", ".join(f"{source} → {target}" for source, target in directions)
            raise TrainingError(
                f"{folder}: translates {has}; the recipe also has {odd[0][0]} → {odd[0][1]}, "
                f"which directions can leave out"
            )
        if config.tokenizer.sampling:
            raise TrainingError(
                f"{folder}: tokenizer.sampling is not possible with an imported vocabulary, which "
                f"may lack pieces of random segmentations"
            )

    def fill(self, model: Transformer, tokenizer: TrainingCodec) -> None:
        """Copy the checkpoint's weights into a new model. Raises `TrainingError`."""
        if self.adapt and isinstance(tokenizer, Tokenizer):  # learnt, or given
            adapt_weights(model, tokenizer, self.origin)
        else:
            copy_weights(model, self.origin)


def check_same_shape(
    origin: Checkpoint, shape: TransformerConfig, *, but: tuple[str, ...] = ()
) -> None:
    """Raise `TrainingError` naming each field in which the two differ, except the given ones."""
    found = origin.config.transformer.model_dump()
    differing = [
        f"{name} {found[name]}, not {value}"
        for name, value in shape.model_dump().items()
        if found[name] != value and name not in (*but, *_WITHOUT_WEIGHTS)
    ]
    if differing:
        raise TrainingError(f"{origin.folder}: has {'; '.join(differing)} as in the recipe")


@torch.no_grad()
def copy_weights(model: Transformer, origin: Checkpoint) -> None:
    """Copy the tensors of a checkpoint of the same shape. Raises `TrainingError`."""
    check_same_shape(origin, model.config)
    for name, parameter in model.named_parameters():
        parameter.copy_(torch.from_numpy(origin.weights[name]))


@torch.no_grad()
def adapt_weights(model: Transformer, tokenizer: Tokenizer, origin: Checkpoint) -> None:
    """Approximate a checkpoint's function in a deeper model with another vocabulary.

    Raises `TrainingError` if anything but depth and vocabulary differs, if layers would be lost, or
    if the layers are not pre-norm.
    """
    config, before = model.config, origin.config.transformer
    check_same_shape(origin, config, but=(*_DEPTHS, *_FROM_VOCABULARY))
    for name in _DEPTHS:
        if getattr(before, name) > getattr(config, name):
            raise TrainingError(f"{origin.folder}: {name} can be increased from, not decreased to")
    if config.norm_order != "pre":
        raise TrainingError(f"{origin.folder}: only pre-norm models can be made deeper")
    if not isinstance(origin.tokenizer, Tokenizer):
        raise TrainingError(f"{origin.folder}: an imported vocabulary cannot be replaced")
    positions = {
        "encoder": spread(before.n_encoder_layers, config.n_encoder_layers),
        "decoder": spread(before.n_decoder_layers, config.n_decoder_layers),
    }
    spelt = pieces_by_old(tokenizer, origin.tokenizer)
    for name, parameter in model.named_parameters():
        stack, _, rest = name.partition(".layers.")
        if stack in positions and rest:
            number, _, tensor = rest.partition(".")
            if int(number) in positions[stack]:
                old = f"{stack}.layers.{positions[stack].index(int(number))}.{tensor}"
                parameter.copy_(torch.from_numpy(origin.weights[old]))
            elif tensor.rpartition(".")[0] in _ZEROED:
                parameter.zero_()
        elif name.endswith("embedding.weight") or name.startswith("output."):
            parameter.copy_(mean_rows(torch.from_numpy(origin.weights[name]), spelt))
        else:
            parameter.copy_(torch.from_numpy(origin.weights[name]))


def spread(n_old: int, n_new: int) -> list[int]:
    """Return the new indices of the old layers: in order, evenly spaced, the last one last."""
    return [(i + 1) * n_new // n_old - 1 for i in range(n_old)]


def pieces_by_old(new: Tokenizer, old: Tokenizer) -> list[list[int]]:
    """Return the old pieces that spell each new piece; symbols and bytes map to themselves."""
    by_piece = {old.piece(index): index for index in range(old.vocab_size)}
    spelt = []
    for index in range(new.vocab_size):
        piece = new.piece(index)
        if piece in by_piece:
            spelt.append([by_piece[piece]])
            continue
        parts = old.encode_batch([piece.replace("▁", " ").strip()])[0]
        # SentencePiece inserts a space before every text; inside a word there is none.
        if not piece.startswith("▁") and len(parts) > 1 and old.piece(parts[0]) == "▁":
            parts = parts[1:]
        spelt.append(parts)
    return spelt


def mean_rows(matrix: Tensor, spelt: list[list[int]]) -> Tensor:
    """Rows [V old, D] or scalars [V old] → the same for new pieces, each a mean of old ones."""
    offsets = torch.tensor([0, *itertools.accumulate(map(len, spelt))][:-1])
    indices = torch.tensor(list(itertools.chain.from_iterable(spelt)))
    rows = functional.embedding_bag(indices, matrix.reshape(len(matrix), -1), offsets, mode="mean")
    return rows.reshape(len(spelt), *matrix.shape[1:])
