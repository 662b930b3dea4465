"""Other projects' checkpoints in and out; nothing else in `model` depends on it.

In: `marian_import`, by way of `huggingface_reader` or `npz_reader`. Out: `huggingface_export`.
Each declares its names in a key map and reports every option that it cannot express at once.
"""
