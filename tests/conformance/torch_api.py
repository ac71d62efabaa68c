"""PyTorch's public names by introspection, and why the frontend does not have some.

``python -m tests.conformance.torch_api`` reads the names off an installed PyTorch 2.13 and
writes ``torch_api.txt``; everything else works from that file, without PyTorch.
"""

from __future__ import annotations

import importlib
import re
import types
from pathlib import Path
from typing import Any

import lazyloom_torch
from lazyloom_torch import _absent

LIST = Path(__file__).parent / "torch_api.txt"
SECTIONS = (
    "torch", "torch.Tensor", "torch.linalg", "torch.fft", "torch.special", "torch.signal.windows",
    "torch.masked", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
    "torch.nn.utils.rnn", "torch.nn.utils.parametrize", "torch.nn.utils.parametrizations",
    "torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.autograd",
    "torch.autograd.functional", "torch.autograd.forward_ad", "torch.func",
    "torch.distributions", "torch.utils.data", "torch.utils.checkpoint", "torch.amp",
    "torch.random", "torch.testing",
)  # fmt: skip

#: (sections, names, reason): the first that matches a name that is not here says why
_RULES: tuple[tuple[str, str, str], ...] = (
    (r".*", r".*(sparse|_csr|_coo|_indices_copy|csc|bsr|bsc).*|values_copy|dsmm|hsmm|hspmm|smm|"
            r"spmm|sspaddmm|saddmm|coalesce|is_coalesced|indices|values|dense_dim|to_dense|"
            r"crow_indices|col_indices|ccol_indices|row_indices|to_mkldnn|SparseAdam",
     "tensors are dense and strided"),
    (r".*", r".*(quant|fbgemm|qscheme|q_scale|q_zero|q_per|qint|quint|_affine_float|int_repr).*|"
            r"per_(channel|tensor)_.*|choose_qparams.*|.*_fake_quant",
     "quantised tensors are not supported"),
    (r".*", r".*(cudnn|miopen|mkldnn|vulkan|mps|xpu|ipu|hpu|cuda|gpu|mkl|lapack|openmp|spectral).*|"
            r"(get|set|is)_autocast_.*|autocast_.*|clear_autocast_cache|.*_meta",
     "names a device or backend of PyTorch's own"),
    (r".*", r".*[Nn]ested.*|jagged|.*_jagged.*", "nested tensors are not supported"),
    (r"torch", r"sym_.*|Sym.*|wait|fork|.*Type|Script.*|.*Script(Module)?|parse_.*|"
               r"merge_type.*|unify_type.*|import_ir.*|.*_str|AliasDb|Argument.*|Block|Call.*|Code|"
               r"CompilationUnit|CompleteArg.*|Concrete.*|DeepCopy.*|Deserial.*|Error.*|Exec.*|"
               r"FileCheck|Function.*|Future|Graph.*|Gradient|IO.*|JIT.*|Lo(ck|gg).*|Node|Noop.*|"
               r"OperatorInfo|PyTorchFile.*|Serial.*|Static.*|Tag|Through.*|Tracing.*|Use|Value|"
               r"Aggregation.*|AVG|SUM|Benchmark.*|Capsule|Dispatch.*|Disable.*|Exclude.*|"
               r"PRIVATE.*|TYPE_.*|USE_.*|classproperty|Stream.*|Event|.*_fuser.*|Acceler.*|"
               r"FatalError|get_file_path|prepare_multi.*|profiler_.*|compiled_with.*|"
               r"init_num.*|thread_safe_generator|typename",
     "a part of TorchScript or of PyTorch's own machinery"),
    (r".*", r".*(backward|_elemt|gather_stats|update_stats|batch_norm_stats|slice_inverse).*|"
            r"native_.*|unsafe_.*|convolution|conv_tbc|grid_sampler.*|_.*|frobenius_norm|"
            r"nuclear_norm|norm_except_dim|embedding_renorm_|feature_dropout.*|segment_reduce|"
            r"from_file|is_distributed|.*_relu_cell|.*_tanh_cell",
     "an internal kernel of PyTorch, without documentation"),
    (r".*", r".*Storage.*|.*storage.*|data_ptr|set_|share_memory_|is_shared|is_pinned|is_same_size|"
            r"is_set_to|.*(Float|Double|Half|Int|Long|Short|Byte|Char|Bool|BFloat16)Tensor|"
            r"map_|map2_|apply_|new|new_tensor_like|element_storage",
     "memory is not addressable: it belongs to XLA"),
    (r".*", r".*(bits|int)\d+x?\d*$|bit|float[48]_.*|complex32|chalf|u?int[1-7]|ComplexHalf.*",
     "XLA has no such dtype"),
    (r".*", r".*(names|named|rename|align_).*|refine_names|unflatten_names",
     "named dimensions, which PyTorch has given up"),
    (r".*", r".*deterministic.*|.*num_(interop_)?threads|set_flush_denormal|.*warn_always.*|"
            r"set_float32_matmul_precision|get_float32_matmul_precision|.*device_module",
     "a setting of PyTorch's own kernels"),
    (r".*", r"eig|lstsq|symeig|solve|matrix_rank|lobpcg|geqrf|ormqr|orgqr|range|"
            r"set_default_tensor.*|legacy.*|ger|chain_matmul|ldl_.*|to_dlpack|has_names|reinforce|resize|resize_as|"
            r"(as_)?tensor_type|data_parallel",
     "deprecated or rare, and not built"),
    (r"torch\.(nn|nn\.parallel)", r".*(DataParallel|SyncBatchNorm|NLLLoss2d|Container|CrossMap.*)",
     "for several processes or deprecated"),
    (r"torch\.utils\.data", r".*(Pipe|Distributed|_dp_|dp_|runtime_valid|argument_valid|guaranteed|"
                            r"non_deterministic|functional_|get_worker_info_).*|.*datapipe.*",
     "data pipes are deprecated; there is one process"),
)


#: names in a section that are none of its API: imports, and texts for documentation
_NOT_API = re.compile(
    r".*_notes|TYPE_CHECKING|BroadcastingList\d|.*torch_function.*|boolean_dispatch|DefaultDevice.*|"
    r"assert_int_or_pair|common_notes|GRID_SAMPLE_.*|(Scaling|Swizzle)Type|const_data_ptr|"
    r"grad_dtype|is_maia|is_mtia|mtia|module_load|output_nr|record_stream|volatile|FileCheck|"
    r"GraphExecGroup|SAC_.*|debug_unwrap|swap_in_.*|enforce_grad_layout.*|factory_kwargs")


def _names(section: str) -> list[str]:
    """The public names of a section of the installed PyTorch."""
    import torch

    place: Any = torch.Tensor if section == "torch.Tensor" else importlib.import_module(section)
    listed = getattr(place, "__all__", None) if section not in ("torch", "torch.Tensor") else None
    if listed is None:
        listed = [n for n in dir(place) if not n.startswith("_")]
    found = []
    for n in sorted(set(listed)):
        value = getattr(place, n, None)
        if _NOT_API.fullmatch(n) or (n == "Tensor" and section != "torch"):
            continue
        if isinstance(value, types.ModuleType) or getattr(value, "__module__", "") == "typing":
            continue
        home = getattr(value, "__module__", None) or "torch"
        if isinstance(value, (type, types.FunctionType)) and not home.startswith("torch"):
            continue
        found.append(n)
    return found


def names() -> dict[str, list[str]]:
    """The names of each section, from the file."""
    found: dict[str, list[str]] = {}
    for line in LIST.read_text().splitlines():
        if line.startswith("## "):
            found[line[3:]] = []
        elif line and not line.startswith("#"):
            found[list(found)[-1]].append(line)
    return found


def here(section: str, name: str) -> bool:
    """Whether the frontend has a name."""
    found: Any = lazyloom_torch
    for part in [*section.split(".")[1:], name]:
        try:
            found = getattr(found, part)
        except AttributeError:
            return False
    return not isinstance(found, (_absent.Absent, _absent.AbsentDtype, _absent.AbsentModule))


def reason(section: str, name: str) -> str:
    """Why the frontend does not have a name; empty if it is simply not built."""
    said = _absent.why(section, name)
    if said:
        return said
    for sections, pattern, text in _RULES:
        if re.fullmatch(sections, section) and re.fullmatch(pattern, name):
            return text
    return ""


def main() -> None:
    import torch

    lines = [f"# public names of torch {torch.__version__.partition('+')[0]}"]
    for section in SECTIONS:
        lines += [f"## {section}", *_names(section)]
    LIST.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
