"""Word alignment: `from_attention` reads links off the attention of a translation model.

`head_search` finds the head that aligns best on pairs that people aligned (`gold`). No torch.
"""
