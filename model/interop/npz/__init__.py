"""Marian's own files: options, the network that they define, and vocabularies.

`model.interop.npz_reader` combines them.
"""
