"""Word alignment: `from_attention` derives links from the attention of a translation model.

`head_search` finds the best head on manually aligned pairs (`gold`). No torch.
"""
