import asyncio
import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from contextvars import copy_context
from pathlib import Path

import httpx
import pytest
import torch
from hypothesis import HealthCheck, settings

from model.checkpoint.config import CheckpointConfig
from model.checkpoint.writer import save_checkpoint
from model.engine.compile import compile_kernels
from model.text.tokenizer import Tokenizer
from model.training.data.vocabulary import train_tokenizer
from model.transformer.config import PRESETS, vocabulary_fields
from model.transformer.transformer import Transformer

# No deadline, since other work on the machine delays examples. Examples are the same for a commit,
# so that failures are due to changes; --hypothesis-profile search tries others.
settings.register_profile(
    "search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "same", settings.get_profile("search"), max_examples=100, derandomize=True, database=None
)
settings.load_profile("same")

VOCAB_SIZE = 400
WORDS = """
    the a weather house dog cat sees likes is nice today tomorrow green old and with
    le la une temps maison chien chat voit aime est beau aujourd'hui demain vert vieux et avec
"""
DIRECTIONS = [("en", "fr"), ("fr", "en")]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-examples", action="store_true", help="write the checkpoint's answers into docs/"
    )


def _sentences() -> Iterator[str]:
    choose = random.Random(7)
    for _ in range(400):
        yield " ".join(choose.choices(WORDS.split(), k=choose.randint(2, 8))).capitalize() + "."


def _write_checkpoint(
    folder: Path, directions: list[tuple[str, str]], seed: int, *, speaks: bool = False
) -> Path:
    """Write random weights; with `speaks`, the model produces letters only, else any bytes."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    vocabulary = folder.with_suffix(".model")
    languages = sorted({code for direction in directions for code in direction})
    train_tokenizer(_sentences(), languages, VOCAB_SIZE, vocabulary)
    tokenizer = Tokenizer.load(vocabulary)
    config = PRESETS["tiny"].model_copy(
        update={"output_bias": speaks}
        | vocabulary_fields(VOCAB_SIZE, tokenizer.pad_id, tokenizer.eos_id)
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        weights = {name: one.detach() for name, one in Transformer(config).named_parameters()}
    if speaks:
        pieces = [tokenizer.piece(index).strip("▁") for index in range(VOCAB_SIZE)]
        weights["output.bias"] = torch.tensor([0.0 if one.isalpha() else -30.0 for one in pieces])
    save_checkpoint(
        folder,
        CheckpointConfig(name=folder.name, directions=directions, beam_size=2, transformer=config),
        weights,
        tokenizer,
        card="# tiny\n\nRandom weights, for tests.\n",
        training={},
    )
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine as a test, for at most 100 seconds.

    It has its own event loop, or that of the fixture `runner`. Fixtures that are asynchronous
    context managers are entered, except clients, which are open.
    """
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}

    async def run() -> None:
        async with AsyncExitStack() as stack:
            for name, value in arguments.items():
                if isinstance(value, AbstractAsyncContextManager) and not isinstance(
                    value, httpx.AsyncClient
                ):
                    arguments[name] = await stack.enter_async_context(value)
            await test(**arguments)

    test_run = asyncio.wait_for(run(), timeout=100)
    runner = pyfuncitem.funcargs.get("runner")
    if isinstance(runner, asyncio.Runner):
        runner.run(test_run, context=copy_context())
    else:
        asyncio.run(test_run)
    return True


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """An event loop for a module's coroutine tests with shared fixtures."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def kernels() -> None:
    """Compile the default engine's kernels, so that starting servers do not wait for it."""
    compile_kernels("int8")


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights and both directions; tests must not change it."""
    return _write_checkpoint(tmp_path_factory.mktemp("checkpoints") / "tiny", DIRECTIONS, seed=1)


@pytest.fixture(scope="session")
def row_of_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """French to English and back, English to German; tests must not change them.

    The first produces words, which the second can read.
    """
    parent = tmp_path_factory.mktemp("row")
    return (
        _write_checkpoint(parent / "fr-en", [("fr", "en"), ("en", "fr")], seed=2, speaks=True),
        _write_checkpoint(parent / "en-de", [("en", "de")], seed=3),
    )


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes Marian models; see `tests.marian_folder`, which takes a second to import."""
    from tests.marian_folder import folder_maker

    return folder_maker(tmp_path_factory)


@pytest.fixture(scope="session")
def make_multilingual(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes M2M-100 and NLLB models in Hugging Face form."""
    from tests.m2m100_folder import multilingual_maker

    return multilingual_maker(tmp_path_factory)
