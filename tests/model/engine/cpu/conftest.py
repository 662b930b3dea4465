import pytest

from model.engine.compile import compile_kernels
from model.engine.cpu import engine as engine_module


@pytest.fixture(scope="session", autouse=True)
def every_kernel() -> None:
    """Kernels are compiled before the time of any test is taken."""
    compile_kernels("int8")
    compile_kernels("float32")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is interrupted ends with the token, so that tests can count them."""
    monkeypatch.setattr(engine_module, "STEP_TOKENS", 1)
