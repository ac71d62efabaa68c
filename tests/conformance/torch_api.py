"""PyTorch's public names by introspection, and why the frontend does not have some.

``python -m tests.conformance.torch_api`` reads the names off an installed PyTorch 2.13 and
writes ``torch_api.txt``; everything else works from that file, without PyTorch. It has the names
of every public module that is not out of scope as a whole, and of the public attributes of their
classes (``Adam.step``); ``test_torch_names.py`` holds each to being here or having a reason.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import lazyloom_torch
from lazyloom_torch import _absent
from lazyloom_torch._absent_names import ALONE

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
            r"nuclear_norm|norm_except_dim|embedding_renorm_|feature_dropout.*|"
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
    (r"torch\.(cuda|xpu|mtia|mps|accelerator|cpu|backends)(\..*)?", r".*",
     "names a device or backend of PyTorch's own"),
    (r"torch\.(jit|compiler|library|overrides)(\..*)?", r".*",
     "a part of TorchScript, or of the compiler or the dispatcher of PyTorch"),
    (r"torch\.optim\.(adadelta|adagrad|adam|adamax|adamw|asgd|nadam|radam|rmsprop|rprop|sgd)",
     r"[a-z]+", "what an optimizer's step calls for its lists of tensors; use the class"),
    (r"torch\.optim\.optimizer", r"Optimizer\.(OptimizerP.*Hook|profile_hook_step)",
     "PyTorch's own marks and types of hooks; the methods that register hooks are here"),
    (r"torch\.optim\.lr_scheduler", r"SequentialLR\.recursive_undo",
     "a step of the constructor; the schedule that it makes is the same"),
    (r"torch\.utils\.checkpoint", r"(Checkpoint(Function|Policy)|.*[Ss]elective.*).*",
     "what is computed again is the whole function; XLA keeps what is cheaper to keep"),
    (r"torch\.serialization", r"check_module.*|.*restore_location|.*crc32.*|.*mmap.*|mkdtemp|"
                              r"location_tag|register_package|skip_data|get_unsafe_globals.*",
     "files are read and written here as a whole, for one device"),
    (r"torch\.hub", r"help|list", "it runs programs out of other people's repositories"),
    (r"torch\.autograd\.(function|variable)", r"(BackwardCFunction|.*Meta).*|Function\.vmap",
     "metaclasses and nodes of PyTorch's own; a Function is batched by its forward"),
    (r"torch\.autograd\.graph", r"allow_mutation.*|.*_budget|set_.*_stream.*|.*ownership_token",
     "saved values are never changed by a write, and there are no streams"),
    (r"torch\.autograd\.gradcheck", r"get_.*jacobian.*", "deprecated in PyTorch, and not built"),
    (r"torch\.nn\.modules\.rnn", r".*\.(check_.*|get_expected_.*|permute_hidden)",
     "steps of PyTorch's checks; the layers raise the errors themselves"),
    (r"torch\.nn\.modules\.activation", r"MultiheadAttention\.merge_masks",
     "a step of PyTorch's fast path, which is not here"),
    (r"torch\.nn\.(parallel|parameter|utils)(\..*)?",
     r"(DataParallel|Uninitialized.*|SpectralNorm.*)(\..*|Hook)",
     "a step of PyTorch's own class; the class here does what its documentation says"),
    (r"torch\.nn\.parallel\.distributed", r"DistributedDataParallel\.(gather|scatter|to_kwargs|"
                                         r"join_.*|train)",
     "a step of PyTorch's class over several GPUs"),
    (r"torch\.distributed(\..*)?", r".*", ALONE),
    (r"torch\.nn\.attention", r"WARN_.*|.*flash_attention.*",
     "kernels of PyTorch's own; XLA compiles attention"),
    (r"torch\.sparse(\..*)?", r"SparseSemi.*", "tensors are dense and strided, or sparse of layout "
                                              "COO, CSR or CSC"),
    (r"torch\.multiprocessing\.(pool|queue)", r"clean_worker|ConnectionWrapper.*",
     "Python's own pool and queues are used as they are"),
    (r"torch\.return_types", r"all_return_types|pytree_.*", "tables of PyTorch's own"),
    (r"torch\.utils\.data\.(dataloader|dataset)", r"DataLoader\.check_.*|ConcatDataset\.cum.*",
     "steps of PyTorch's own constructors"),
    (r"torch\.utils\.dlpack", r"DLDeviceType.*", "tensors live on the CPU, DLPack's device 1"),
    (r"torch\.utils\.flop_counter", r".*", "operations are not counted as they are recorded"),
    (r"torch\.utils\.hooks", r"BackwardHook.*|RemovableHandle\.next_id",
     "a part of PyTorch's modules; register hooks by their methods"),
    (r"torch\.utils", r"swap_tensors", "two tensors cannot change places; exchange their data"),
    (r"torch\.(nn\.functional)", r"grouped_mm", "libraries have a way without it, and take it"),
    (r"torch(\.(random|func|Tensor|testing))?",
     r"BufferDict|ModuleDict|ParameterDict|embedding_bag|thread_safe_generator|rearrange|index|"
     r"to_padded_tensor|assert_allclose",
     "a part of PyTorch's own machinery, or deprecated there"),
    (r"torch\.nn\.modules\.(module|loss)", r"Module\.mtia|LinearCrossEntropyLoss.*",
     "for a device of PyTorch's own, or found in torch.nn"),
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


_NOTHING = object()
#: attributes that classes of PyTorch's show, and here each instance has
_OF_INSTANCES = frozenset((
    "torch.utils.data.dataloader.DataLoader.multiprocessing_context",
    "torch.nn.attention.SDPBackend.name", "torch.nn.attention.SDPBackend.value",
    "torch.finfo.bits", "torch.nn.utils.rnn.PackedSequence.batch_sizes",
))


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


def _modules() -> list[str]:
    """The public modules of the installed PyTorch beside ``SECTIONS``."""
    import torch

    found: set[str] = set()

    def walk(name: str, path: Any) -> None:
        for m in pkgutil.iter_modules(path):
            full = f"{name}.{m.name}"
            if m.name.startswith("_") or _absent.reason_of("lazyloom_" + full):
                continue
            quiet = io.StringIO()
            try:
                with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                    module = importlib.import_module(full)
            except (Exception, SystemExit):
                continue  # it needs what is not installed
            found.add(full)
            if m.ispkg and "__path__" in vars(module):
                walk(full, module.__path__)

    walk("torch", torch.__path__)
    for full, module in list(sys.modules.items()):
        if full.startswith("torch.") and "._" not in full and isinstance(module, types.ModuleType):
            if not _absent.reason_of("lazyloom_" + full):
                found.add(full)
    return sorted(found - set(SECTIONS))


def _own_names(section: str) -> list[str]:
    """The public names that a module defines or lists."""
    module = importlib.import_module(section)
    listed = getattr(module, "__all__", None)
    found = []
    for n in sorted(vars(module) if not isinstance(listed, (list, tuple)) else set(listed)):
        value = getattr(module, n, None)
        if n.startswith("_") or isinstance(value, types.ModuleType) or _NOT_API.fullmatch(n):
            continue
        of_module = isinstance(value, (type, types.FunctionType)) and value.__module__ == section
        if isinstance(listed, (list, tuple)) or of_module:
            found.append(n)
    return found


def _members(section: str, names: list[str]) -> list[str]:
    """The public attributes that classes among the names define themselves."""
    module: Any = importlib.import_module(section)
    found = []
    for name in names:
        cls = getattr(module, name, None)
        if isinstance(cls, type) and cls.__module__ == section and not name.endswith("Tensor"):
            found += [f"{name}.{n}" for n in sorted(vars(cls)) if not n.startswith("_")]
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
    found: Any = lazyloom_torch.Tensor
    if section != "torch.Tensor":
        try:
            found = importlib.import_module(f"lazyloom_{section}")
        except ImportError:
            return False
    if f"{section}.{name}" in _OF_INSTANCES:
        return True
    for part in name.split("."):
        found = getattr(found, part, None) if part == "out" else getattr(found, part, _NOTHING)
        if found is _NOTHING or isinstance(
                found, (_absent.Absent, _absent.AbsentDtype, _absent.AbsentModule)):
            return False
    return True


def reason(section: str, name: str) -> str:
    """Why the frontend does not have a name; empty if it is simply not built.

    An attribute of a class that is not here has the reason of the class.
    """
    owner, _, attribute = name.partition(".")
    if attribute and not here(section, owner):
        return reason(section, owner)
    said = _absent.why(section, name)
    if said:
        return said
    for sections, pattern, text in _RULES:
        if re.fullmatch(sections, section) and re.fullmatch(pattern, name):
            return text
    return ""


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    lines = [f"# public names of torch {torch.__version__.partition('+')[0]}"]
    for section in SECTIONS:
        own = [] if section in ("torch", "torch.Tensor") else _members(section, _names(section))
        lines += [f"## {section}", *_names(section), *own]
    for section in _modules():
        own = _own_names(section)
        if own:
            lines += [f"## {section}", *own, *_members(section, own)]
    LIST.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
