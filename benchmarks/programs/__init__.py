"""Whole programs that differ from sample to sample, as people write them.

One file each, with ``KIND`` ("torch" or "numpy"), ``SIZES`` ("small" and "full", the arguments of
``run``) and ``run(module, progress, **size)``. The module is PyTorch or the torch-like frontend,
or NumPy or the NumPy-like one; the text is the same for both. Initial weights and data come from
NumPy's generators with fixed seeds, so that what is computed can be compared.

``python -m benchmarks.programs NAME --library lazyloom`` runs one in its process and says how
long its parts took.
"""

from .progress import Progress

#: the programs, in the order of the page
NAMES = (
    "wordseg", "tree_lstm", "reinforce", "spinn", "ekf", "particle_filter", "char_rnn",
    "growing_cache", "numpy_examples", "small_programs", "lstm_steps", "layer_stack", "lengths",
    "generation", "extents", "first_steps",
)

__all__ = ["NAMES", "Progress"]
