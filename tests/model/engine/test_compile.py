import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from model.engine import build, compilation
from model.engine import compile as compiling
from model.engine.compilation import COMPILATION
from model.engine.compile import ensure_compiled
from model.engine.cpu.forward.weights import Precision
from model.errors import ConfigError

COUNT = """
import sys
from pathlib import Path

from model.checkpoint.reader import load_checkpoint
from model.transformer.config import TransformerConfig
from model.decoding.constraints import GLUED, Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from tests.model.engine.cpu.running import pack_model
from model.engine.compile import compile_kernels
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.kernels.jit import Kernel
from model.engine.protocol import Job
from model.transformer.transformer import Transformer


def compiled() -> dict[str, int]:
    return {
        f"{name}.{kernel.__name__}": len(kernel.dispatcher.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("model.engine.cpu.")
        for kernel in vars(module).values()
        if isinstance(kernel, Kernel)
    }


def use(engine: object) -> None:
    terms = (Constraint((Wording((5, 6)), Wording((7,), GLUED))),)
    for constraints in ((), terms):
        options = SearchOptions(4, 4, constraints=constraints)
        engine.admit([Job(0, (5, 6, 1), options), Job(1, (5, 1), SearchOptions(1))])
        while engine.busy:
            engine.interrupt()
            engine.step()
    engine.cancel([0])
    for kind in ("encoder", "decoder", "cross"):
        engine.explain((3, 1), (4, 1), kind)
    engine.score([((3, 1), (4, 1))], SearchOptions())


for precision in ("int8", "float32"):
    compile_kernels(precision)
before = compiled()
checkpoint = load_checkpoint(Path(sys.argv[1]))
for choice in ("int8", "fp32"):
    use(*build_engines(checkpoint, choice))
unlike = TransformerConfig(
    d_model=18, d_ff=30, n_heads=3, n_encoder_layers=1, n_decoder_layers=3, source_vocab_size=20,
    target_vocab_size=30, max_length=20, activation="swish", norm_order="pre",
    share_embeddings=False, tie_output=False, output_bias=True, decoder_d_ff=12,
)
for precision in ("int8", "float32"):
    use(CpuEngine(unlike, pack_model(Transformer(unlike), precision)))
large = unlike.model_copy(update={"target_vocab_size": 20_000})
for precision in ("int8", "float32"):
    use(CpuEngine(large, pack_model(Transformer(large), precision), n_threads=2))
assert len(before) > 10, before
assert sum(before.values()) > 20, before
assert compiled() == before, (before, compiled())
"""


def test_kernels_compiled_ahead_are_all_that_any_model_needs(tiny_checkpoint: Path) -> None:
    """Run in a separate process, which has compiled nothing else."""
    subprocess.run([sys.executable, "-c", COUNT, str(tiny_checkpoint)], check=True)


def test_kernels_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def compile_some(precision: Precision, _: Path) -> None:
        done.append(precision)
        mark = compiling._mark(precision)
        assert mark is not None
        mark.touch()

    monkeypatch.setattr(compiling, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(compiling, "_compile_in_processes", compile_some)
    for _ in range(2):
        build.prepare_kernels("auto", ("cpu",))
    assert done == ["int8"]
    build.prepare_kernels("fp32", ("cpu",))
    build.prepare_kernels("bf16", ("cpu",))
    build.prepare_kernels("auto", ("cpu", "cpu"))
    assert done == ["int8", "float32"]


def test_without_a_cache_kernels_are_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(compiling, "CACHE_FOLDER", None)
    monkeypatch.setattr(compiling, "compile_kernels", done.append)
    ensure_compiled("int8")
    ensure_compiled("int8")
    assert done == ["int8", "int8"]


def test_kernels_that_a_wheel_brings_are_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = compiling._mark("int8")
    assert mark is not None
    (tmp_path / mark.name).touch()
    monkeypatch.setattr(compiling, "CACHE_FOLDER", tmp_path / "cache")
    monkeypatch.setattr(compiling, "SHIPPED_FOLDER", tmp_path)
    monkeypatch.setattr(compiling, "_compile_in_processes", lambda *_: pytest.fail("compiled"))
    ensure_compiled("int8")


def test_if_no_process_can_be_started_this_one_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []
    monkeypatch.setattr(compiling, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(compiling, "compile_kernels", done.append)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    ensure_compiled("int8")
    assert done == ["int8"]
    announced, failed = caplog.messages
    assert announced.startswith("compiling kernels")
    assert failed.startswith("kernels are compiled in this process: ")
    assert COMPILATION.seconds_left is None


def test_progress_is_logged_by_the_size_of_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left: list[float | None] = []

    class Compiling:
        """A process that writes code at each poll, and ends at the fourth."""

        def __init__(self) -> None:
            self.n = 0

        def poll(self) -> int | None:
            left.append(COMPILATION.seconds_left)
            (tmp_path / "module").mkdir(exist_ok=True)
            code = tmp_path / "module" / f"{self.n}.nbc"
            code.write_bytes(b"0" * 25)
            os.utime(code, (time.time(),) * 2)  # many kernels' own is up to 10 ms late
            self.n += 1
            return 0 if self.n == 4 else None

        def wait(self, _: float) -> None:
            raise subprocess.TimeoutExpired("", 0)

    @contextmanager
    def processes(*_: object) -> Iterator[list[Compiling]]:
        COMPILATION.start()
        yield [Compiling()]
        COMPILATION.end()

    monkeypatch.setattr(compiling, "_processes", processes)
    monkeypatch.setattr(compiling, "EXPECTED_BYTES", 100)
    monkeypatch.setattr(compiling, "LOG_SECONDS", 0)
    compiling._compile_in_processes("int8", tmp_path)
    assert left[0] == pytest.approx(compilation.EXPECTED_SECONDS, abs=10)
    assert all(one is not None for one in left)
    assert [line.split(",")[0] for line in caplog.messages[1:]] == [
        f"compiling kernels: {percent} %" for percent in (25, 50, 75)
    ]


def test_a_process_that_compiles_ends_with_the_one_that_started_it() -> None:
    code = (
        "import time\n"
        "from model.engine import compile as here\n"
        "here.compile_kernels = lambda _: (print('compiling', flush=True), time.sleep(100))\n"
        "here.run_job('compile_kernels', 'int8')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    process.stdin.close()
    assert process.wait(20) == 1
    process.stdout.close()


def test_kernels_for_another_processor_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "ONLY_COMPILES", True)
    with pytest.raises(ConfigError, match="KERNEL_TARGET"):
        build.prepare_kernels("auto", ("cpu",))
    build.prepare_kernels("bf16", ("cpu",))


def test_a_compilation_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "CACHE_FOLDER", tmp_path)
    compiling.compile_kernels("int8")
    assert [one.suffix for one in tmp_path.iterdir()] == [".complete"]
    monkeypatch.setattr(compiling, "compile_kernels", lambda _: pytest.fail("compiled"))
    ensure_compiled("int8")


def test_a_mark_is_for_a_precision_and_a_state_of_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "CACHE_FOLDER", tmp_path)
    marks = {compiling._mark("int8"), compiling._mark("int8"), compiling._mark("float32")}
    assert len(marks) == 2
    (tmp_path / "compile.py").write_text("another\n")
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compile.py"))
    assert compiling._mark("int8") not in marks


WITHOUT_COMPILER = """
import sys
from pathlib import Path

from model.checkpoint.reader import load_checkpoint
from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines, prepare_kernels
from model.engine.cpu.kernels.image import unload_images
from model.engine.explanations import LayerRow
from model.engine.protocol import Job
from model.engine.run import run_jobs


def answers() -> list[object]:
    engines = build_engines(loaded, "int8", 2)
    if "numba" in sys.modules:
        unload_images()
    terms = (Constraint((Wording((5, 6)),)),)
    options = [SearchOptions(), SearchOptions(4, 4), SearchOptions(4, constraints=terms)]
    source = (5, 6, 7, 1)
    jobs = [Job(number, source, one, stream=number == 1) for number, one in enumerate(options)]
    found = [
        [(one.ids, one.score, one.log_probs) for one in outcome]
        for _, outcome in sorted(run_jobs(engines, jobs))
    ]
    pair = (3, 4, 1), (4, 1)
    layer = engines[0].activations(*pair, LayerRow("decoder", 0, 0))
    weights = engines[0].explain(*pair, "cross")
    [scores] = engines[0].score([pair], SearchOptions())
    return [found, str(layer), weights.tolist(), scores.tolist()]


loaded = load_checkpoint(Path(sys.argv[1]))
prepare_kernels("int8")
light = answers()
print(sorted({"numba", "llvmlite"} & sys.modules.keys()))
import numba
print(answers() == light)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="numba loads the kernels of other systems",
)
def test_compiled_kernels_answer_without_the_compiler_as_with_it(tiny_checkpoint: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_COMPILER, str(tiny_checkpoint)]
    assert subprocess.check_output(command, text=True).splitlines() == ["[]", "True"]
