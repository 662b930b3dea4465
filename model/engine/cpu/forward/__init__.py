"""The Transformer's forward pass over sentences in flight, as kernels.

Reading order: `weights` of a checkpoint, packed; `slots`, one for each sentence, with the rule of
its search; `workspace`, the memory of a step; `encoder` over all new sentences' tokens side by
side, `decoder` over one position of every live hypothesis, both with `attention`; `output`, the
best next tokens of each row.
"""
