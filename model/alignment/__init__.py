"""Word alignment: `from_attention` derives links from the attention of a translation model.

`gold` scores them on manually aligned pairs, and finds the best head. No torch.
"""
