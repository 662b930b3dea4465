from tests.app.cli.conftest import attend

__all__ = ["attend"]
