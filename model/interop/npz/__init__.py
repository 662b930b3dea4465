"""Marian's own files: options, the network that they define, vocabularies, and its binary format.

`model.interop.npz_reader` and `firefox_reader` combine them.
"""
