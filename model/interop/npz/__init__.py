"""Marian's own files: the names in *.npz, the options, and the vocabularies beside it.

`model.interop.npz_reader` puts them together.
"""
