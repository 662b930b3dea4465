"""Per-client state: keys, rate limits, usage, glossaries, translated files.

No HTTP: routes identify a client, charge it and fetch its data. Below the routes, clients are
opaque keys.
"""
