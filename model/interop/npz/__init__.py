"""Marian's own files: tensor names in *.npz, options, and vocabularies.

`model.interop.npz_reader` combines them.
"""
