"""The queue between coroutines and engines: no text, no HTTP, no torch.

Reading order: `scheduler` (the interface for coroutines), `shared_queue` (the only lock),
`engine_thread` (the loop: drop cancelled, admit, step, deliver), `engine_state`, `fair_queue` (fair
order), then `admission` (limit of requests) and `deduplication`. Uses engines only through
`model.engine.protocol`. Called by `app.translation`, `app.runtime` and `app.loading`.
"""
