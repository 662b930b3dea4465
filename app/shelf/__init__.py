"""A shelf of models, which are loaded on demand and evicted when others need their memory.

    known ──acquire──▶ queued ──loaded──▶ leased and released ──least recently used──▶ known
                         └── failed: requests get the error, and it is tried again after a pause

`slot` is a model's state, and `shelf` loads, leases and evicts. Everything belongs to one event
loop, and knows neither texts nor HTTP nor tensors.
"""
