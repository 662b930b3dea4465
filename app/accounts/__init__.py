"""What the server keeps for a client: keys, rate limits, usage, glossaries, translated files.

No HTTP: routes look a client up, charge it and fetch what is its own. Nothing below the routes
knows clients other than by an opaque key.
"""
