"""The queue between coroutines and engines: no text, no HTTP, no torch.

To read first: `scheduler` (what coroutines call), `shared_queue` (the one lock), `engine_thread`
(the loop: drop cancelled, admit, step, hand out), `fair_queue` (whose turn it is), then `admission`
(how many requests at a time), `deduplication` and `bisection`. Knows engines by
`model.engine.protocol` alone. Called by `app.translation`, `app.runtime` and `app.loading`.
"""
