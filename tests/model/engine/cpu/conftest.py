import pytest

from model.engine.compile import compile_kernels
from model.engine.cpu import engine as engine_module


@pytest.fixture(scope="session", autouse=True)
def every_kernel() -> None:
    """Compile kernels before the timeout of any test starts."""
    compile_kernels("int8")
    compile_kernels("float32")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted step ends with the current token, so that tests can count them."""
    monkeypatch.setattr(engine_module, "STEP_TOKENS", 1)
