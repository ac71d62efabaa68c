"""The classes of ``torch.nn``, by topic."""
