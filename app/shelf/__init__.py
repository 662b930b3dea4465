"""A shelf of models: each is loaded when it is asked for, and let go when others need its memory.

    known ──lend──▶ wanted ──loaded──▶ lent and returned ──least recently used──▶ known
                       └── failed: requests get the error, and it is tried again after a pause

`slot` is one model's state, `load_queue` the order of loading, and `shelf` loads, lends and lets
go. All belong to one event loop, and know neither texts nor HTTP nor tensors.
"""
