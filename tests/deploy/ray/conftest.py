import warnings
from contextlib import suppress

with warnings.catch_warnings(), suppress(ImportError):
    warnings.simplefilter("ignore")  # Ray's own; warnings are errors here
    import ray.serve  # noqa: F401
