"""``torch.distributed.algorithms._checkpoint``: modules that are computed again for gradients."""
