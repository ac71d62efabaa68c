"""The op table: every operation of every frontend, each defined once.

See :mod:`lazyloom.ops.spec` for what an entry is. Importing this package fills
the table and does not import JAX.
"""

from . import activations as activations
from . import alignment as alignment
from . import attention as attention
from . import casts as casts
from . import collectives as collectives
from . import compare as compare
from . import contraction as contraction
from . import control_flow as control_flow
from . import convolution as convolution
from . import creation as creation
from . import cumulative as cumulative
from . import custom as custom
from . import derived as derived
from . import elementwise as elementwise
from . import embedding as embedding
from . import factors as factors
from . import fft as fft
from . import folds as folds
from . import functions as functions
from . import indexing as indexing
from . import linalg as linalg
from . import losses as losses
from . import modules as modules
from . import normalization as normalization
from . import optimizers as optimizers
from . import pooling as pooling
from . import quantization as quantization
from . import random as random
from . import random_rejection as random_rejection
from . import recurrent as recurrent
from . import reductions as reductions
from . import resampling as resampling
from . import shape as shape
from . import shard_map as shard_map
from . import sorting as sorting
from . import spec
from . import special as special
from . import status as status
from . import structural as structural
from . import windows as windows
from .spec import OpDef, describe_class, lookup, names, op, table
from .traits import Access, Derivative, Execution, Residuals, Signature

__all__ = [
    "Access", "Derivative", "Execution", "OpDef", "Residuals", "Signature", "describe_class",
    "lookup", "names", "op", "spec", "table",
]
