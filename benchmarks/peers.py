"""CTranslate2 and `transformers` with the same weights. Requires the extra `bench`."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import torch

from benchmarks.checkpoints import ctranslate2_folder, huggingface_folder
from benchmarks.system import Answer, Ids, System, Task
from model.checkpoint.reader import Checkpoint
from model.decoding.hypothesis import SearchOptions
from model.decoding.padding import padded_ids
from model.text.marian_tokenizer import VOCABULARY_FILE
from model.transformer.config import TransformerConfig

BEYOND_SOURCE = 50
"""Maximum target tokens beyond source tokens, as in attend; by the longest source for all."""


def make_peers(checkpoint: Checkpoint, work: Path, threads: int, precision: str) -> list[System]:
    """Return CTranslate2 in all distributions of its threads that may be the fastest.

    `precision` is attend's: float32 is compared with float32, everything else with int8.
    """
    compute_type = "float32" if precision == "fp32" else "int8"
    return [
        CTranslate2.of(checkpoint, work, compute_type, inter_threads=inter, intra_threads=intra)
        for inter, intra in sorted({(1, threads), (1, 1), (threads, 1)})
    ]


def _limit(task: Task) -> int:
    return task.options.max_target_tokens or max(map(len, task.sources)) + BEYOND_SOURCE


def suppressed(shape: TransformerConfig) -> list[list[str]] | None:
    """Return tokens that CTranslate2 must not produce; for Marian (post-norm) it knows them."""
    return None if shape.norm_order == "post" else [["<pad>"]]


def pieces_of(checkpoint: Checkpoint, work: Path) -> list[str]:
    """Return the vocabulary by attend's ids, as exported."""
    text = (huggingface_folder(checkpoint, work) / VOCABULARY_FILE).read_text(encoding="utf-8")
    id_of: dict[str, int] = json.loads(text)
    return sorted(id_of, key=id_of.__getitem__)


class CTranslate2:
    """`translate_batch`, which sorts by length, forms batches and distributes them to workers."""

    def __init__(
        self,
        folder: Path,
        pieces: Sequence[str],
        compute_type: str,
        *,
        inter_threads: int,
        intra_threads: int,
        device: str = "cpu",
        suppress: list[list[str]] | None = None,
    ) -> None:
        """Load a converted model; `pieces`: by attend's ids."""
        import ctranslate2

        self._workers = inter_threads
        self._translator: Any = ctranslate2.Translator(
            str(folder),
            device=device.partition(":")[0],
            device_index=int(device.partition(":")[2] or 0),
            compute_type=compute_type,
            inter_threads=inter_threads,
            intra_threads=intra_threads,
        )
        self._pieces = pieces
        self._id_of = {piece: index for index, piece in enumerate(pieces)}
        self._suppressed = suppress
        self.name = f"CTranslate2 {self._translator.compute_type}"
        self.threads = f"{inter_threads} × {intra_threads}"

    @classmethod
    def of(cls, checkpoint: Checkpoint, work: Path, compute_type: str, **options: Any) -> Self:
        """Load the weights of a checkpoint; options as of the class."""
        return cls(
            ctranslate2_folder(checkpoint, work),
            pieces_of(checkpoint, work),
            compute_type,
            suppress=suppressed(checkpoint.config.transformer),
            **options,
        )

    def suits(self, task: Task) -> bool:
        """Exclude several workers for single sentences, which leave nothing to a second one."""
        return task.batch > 1 or self._workers == 1

    def answer(self, task: Task) -> Answer:
        """Give each worker as many sentences at a time as attend has in total."""
        sources = [[self._pieces[index] for index in ids] for ids in task.sources]
        first_id, limit = task.options.first_id, _limit(task)
        prefix: Any = None if first_id is None else [self._pieces[first_id]]
        batches = [sources] if task.batch > 1 else [[source] for source in sources]
        results: list[Any] = []
        began = time.perf_counter()
        for batch in batches:
            results += self._translator.translate_batch(
                batch,
                target_prefix=prefix and [prefix for _ in batch],
                max_batch_size=task.batch,
                beam_size=task.options.beam_size,
                length_penalty=task.options.length_penalty,
                max_decoding_length=limit,
                suppress_sequences=self._suppressed,
            )
        seconds = time.perf_counter() - began
        targets = [tuple(self._id_of[piece] for piece in one.hypotheses[0]) for one in results]
        return Answer(seconds, targets, [len(target) < limit for target in targets])


class HuggingFace:
    """`generate`, batches of similar length."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        work: Path,
        threads: int,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        from transformers import AutoModelForSeq2SeqLM

        folder = huggingface_folder(checkpoint, work)
        model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=dtype)
        self._model = model.to(device).eval()
        self._device = torch.device(device)
        self._shape = checkpoint.config.transformer
        self.name = f"transformers {str(dtype).removeprefix('torch.')}"
        self.threads = f"1 × {threads}"

    def suits(self, task: Task) -> bool:  # noqa: ARG002
        return True

    @torch.inference_mode()
    def answer(self, task: Task) -> Answer:
        order = list(range(len(task.sources)))
        if task.batch > 1:
            order.sort(key=lambda index: len(task.sources[index]), reverse=True)
        limit = _limit(task)
        targets: list[Ids] = [()] * len(order)
        ended = [False] * len(order)
        began = time.perf_counter()
        for start in range(0, len(order), task.batch):
            batch = order[start : start + task.batch]
            rows = self._generate([task.sources[index] for index in batch], limit, task.options)
            for index, row in zip(batch, rows, strict=True):
                ended[index] = self._shape.eos_id in row
                end = row.index(self._shape.eos_id) if ended[index] else len(row)
                targets[index] = tuple(row[:end])
        return Answer(time.perf_counter() - began, targets, ended)

    def _generate(self, sources: list[Ids], limit: int, options: SearchOptions) -> list[list[int]]:
        source = padded_ids(sources, self._shape.pad_id, self._device)
        found = self._model.generate(
            source,
            attention_mask=source != self._shape.pad_id,
            num_beams=options.beam_size,
            length_penalty=options.length_penalty,
            max_length=limit + 1,  # includes the start
        )
        rows: list[list[int]] = found[:, 1:].tolist()
        return rows
