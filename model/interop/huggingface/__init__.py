"""Folders in Hugging Face format: their JSON files, the names and the files of their tensors.

`model.interop.huggingface_reader` and `m2m100_reader` combine them.
"""
