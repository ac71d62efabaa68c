"""What Python's ``lazyloom`` has, and what of it C has: the table of ``docs/c-abi.md``.

A public name is reached by functions of the header, or there is a reason why it is not. A test
compares both with what there is.
"""

from __future__ import annotations

from typing import Final

_PYTHON: Final = "is about objects, modules or trees of Python"
_FRONTEND: Final = "is for frontends written in Python, which draw on the core directly"
_HANDLE: Final = "C has a handle for it: "
_TAPE: Final = "looks into the tape, for PyTorch's graph of functions"

#: public names of ``lazyloom`` by functions of the header, or a reason
NAMES: Final[dict[str, tuple[str, ...] | str]] = {
    "Backend": "a backend is a class of Python's; `LAZYLOOM_BACKEND` chooses one for C, too",
    "Check": _FRONTEND,
    "DType": "C has an enum, `loom_dtype`",
    "Evaluation": ("loom_last_evaluation",),
    "ExportedFunction": _HANDLE + "`loom_exported`",
    "LoomError": ("loom_error_status", "loom_error_describe"),
    "Mesh": "C names a mesh by its text, as `loom_tensor_shard` takes it",
    "OpDef": ("loom_op_describe",),
    "PerformanceWarning": ("loom_set_log",),
    "Place": _TAPE,
    "Placement": ("loom_tensor_placement",),
    "Program": _HANDLE + "`loom_program`",
    "Scalar": "C has `loom_operand` with a number",
    "Site": ("loom_set_source_location",),
    "Spec": "the library keeps one for each form of call, by its bytes",
    "Step": _TAPE,
    "Storage": _FRONTEND,
    "Tensor": _HANDLE + "`loom_tensor`",
    "TensorType": ("loom_tensor_dtype", "loom_tensor_shape"),
    "Value": _HANDLE + "`loom_tensor`",
    "apply": ("loom_apply",),
    "axis_index": "is used in `shard_map`, which C does not have",
    "backward": ("loom_backward",),
    "boundary": ("loom_boundary",),
    "cache_dir": ("loom_cache_dir",),
    "capture": ("loom_capture_begin", "loom_capture_end", "loom_capture_run"),
    "check_indices": _FRONTEND,
    "clear_site": ("loom_set_source_location",),
    "cond": ("loom_cond",),
    "custom": ("loom_apply_custom",),
    "custom_rule": _TAPE,
    "default_device": "C names the default device by NULL",
    "devices": ("loom_devices",),
    "dlpack_device": ("loom_tensor_to_dlpack",),
    "dtypes": ("loom_dtype_name", "loom_dtype_size"),
    "errors": ("loom_status_name",),
    "evaluations": ("loom_evaluations_json",),
    "explain": ("loom_program_collectives",),
    "export": ("loom_export", "loom_export_with"),
    "export_onnx": "makes an object of the Python package onnx-ir; `loom_export` writes StableHLO",
    "finish_compiling": ("loom_finish_compiling",),
    "folded": _TAPE,
    "forget_since": _TAPE,
    "free_tape": "what a gradient needs lives as long as the outputs; `loom_backward` frees it",
    "from_dlpack": ("loom_tensor_from_dlpack", "loom_tensor_from_dlpack_unversioned"),
    "from_host": ("loom_tensor_from_host", "loom_tensor_share_host"),
    "frontend": _FRONTEND,
    "get_option": ("loom_get_option", "loom_option_get"),
    "grad": ("loom_value_and_grad",),
    "grad_enabled": ("loom_set_grad_enabled",),
    "grad_mode": ("loom_set_grad_enabled",),
    "gradients": ("loom_grad",),
    "hessian": ("loom_hessian",),
    "jacfwd": ("loom_jacobian",),
    "jacobian": ("loom_jacobian",),
    "jacrev": ("loom_jacobian",),
    "jit": ("loom_capture_begin", "loom_capture_end", "loom_capture_run"),
    "jvp": ("loom_jvp",),
    "known_bounds": _FRONTEND,
    "known_range": _FRONTEND,
    "last_evaluation": ("loom_last_evaluation",),
    "last_sequence": _FRONTEND,
    "linearize": ("loom_linearize",),
    "load": ("loom_load_program", "loom_load_program_with_engines"),
    "make_mesh": ("loom_tensor_shard",),
    "mark_dynamic": ("loom_mark_dynamic",),
    "mark_static": ("loom_mark_static",),
    "monitor": "`LAZYLOOM_TOP=1` in the environment has programs in C answer, too",
    "name_site": ("loom_set_source_location",),
    "ops": ("loom_op_count", "loom_op_name", "loom_op_describe"),
    "options": ("loom_option_set", "loom_options_json"),
    "parents": _TAPE,
    "placement_of": ("loom_tensor_placement",),
    "platform": ("loom_platform",),
    "private_folder": "makes a folder, for what Python code stores beside the cache",
    "profile": ("loom_profile_begin", "loom_profile_end", "loom_profile_json"),
    "program_of": ("loom_program_of",),
    "programs_of": ("loom_programs_of",),
    "read_for_shape": _FRONTEND,
    "record": ("loom_apply",),
    "record_number": "is `loom_apply` of one form, faster in Python",
    "record_one": "is `loom_apply` of one form, faster in Python",
    "record_spec": "is `loom_apply` of a known form, faster in Python",
    "record_two": "is `loom_apply` of one form, faster in Python",
    "register_check": _FRONTEND,
    "register_op": "an op is defined by a function of Python's that JAX traces",
    "report": "tells of the records that are kept, which `loom_evaluations_json` has; "
              "`loom_profile_json` tells more",
    "result_of": _TAPE,
    "save_onnx": "writes an object of the Python package onnx-ir; `loom_export` writes StableHLO",
    "save_repro": ("loom_save_repro",),
    "scan": ("loom_scan",),
    "set_grad_enabled": ("loom_set_grad_enabled",),
    "set_option": ("loom_set_option", "loom_option_set"),
    "set_site": ("loom_set_source_location",),
    "shard": ("loom_tensor_shard",),
    "shard_map": "a body for each device of a mesh is not there yet; `loom_tensor_shard` divides, "
                 "and XLA divides what is computed",
    "skip_folder": "keeps files of Python out of what messages name",
    "skip_packages": "likewise, of packages of Python",
    "source": ("loom_source",),
    "spec": "the library keeps one for each form of call, by its bytes",
    "stats": ("loom_stat", "loom_stats_json"),
    "sync": ("loom_sync", "loom_wait"),
    "sync_older": _FRONTEND,
    "tangents": ("loom_jvp",),
    "tensor_type": _PYTHON,
    "testing": "is for tests in Python; C has `loom_stat` and the strict modes",
    "to_device": ("loom_tensor_to_device",),
    "to_dlpack": ("loom_tensor_to_dlpack", "loom_tensor_to_dlpack_unversioned"),
    "tree_flatten": _PYTHON,
    "tree_map": _PYTHON,
    "use_backend": "a backend is a class of Python's; `LAZYLOOM_BACKEND` chooses one for C, too",
    "used_since": _TAPE,
    "user_packages": "has files of Python's packages named in messages",
    "value_and_grad": ("loom_value_and_grad",),
    "visualize_sharding": ("loom_tensor_picture",),
    "vjp": ("loom_vjp",),
    "vmap": ("loom_vmap",),
    "while_loop": ("loom_while_loop",),
}

_GENERATOR: Final = "is what a code generator is written with, in Python"
_REPORT: Final = ("looks into a partition; C has the report as text and as a picture, by "
                 "`loom_program_explain` and `loom_program_picture`")
_GROUP: Final = "C gives ranks as an attribute of the ops of collectives, `group`"

#: likewise, of the modules whose names are functions of the runtime
MODULES: Final[dict[str, dict[str, tuple[str, ...] | str]]] = {
    "cache": {
        "CacheArtifact": ("loom_cache_report_json",),
        "CacheEnvironment": ("loom_cache_report_json",),
        "CacheInfo": ("loom_cache_report_json",),
        "contents": ("loom_cache_list_json",),
        "load": ("loom_cache_load",),
        "save": ("loom_cache_save",),
    },
    "codegen": {
        **dict.fromkeys(
            ("Answer", "Baked", "CSource", "Call", "Code", "Generator", "Layout", "Leaf",
             "NativeCode", "No", "Number", "Only", "Pass", "PassError", "Pattern", "PythonCode",
             "Region", "RegionRewriter", "Result", "YES", "absent", "any_value", "at_least",
             "if_measured", "match", "number", "register", "whatever_the_size"), _GENERATOR),
        **dict.fromkeys(("Part", "Partition", "Report", "Verdict", "partition"), _REPORT),
        "Failure": ("loom_codegen_failures",),
        "available": ("loom_codegen_available",),
        "explain": ("loom_program_explain",),
        "failures": ("loom_codegen_failures",),
        "in_use": ("loom_codegen_in_use",),
        "load": ("loom_codegen_load",),
        "measure": ("loom_codegen_measure",),
        "segmented": ("loom_codegen_segmented",),
        "unavailable": "is for people at a terminal: `python -m lazyloom codegen list`",
        "use": ("loom_codegen_use",),
        "verify": ("loom_codegen_verify",),
    },
    "distributed": {
        **dict.fromkeys(("WORLD", "Group", "new_group"), _GROUP),
        **dict.fromkeys(
            ("all_gather", "all_reduce", "all_to_all", "broadcast", "permute", "reduce_scatter"),
            "is an op, with a wrapper in `lazyloom_ops.h`"),
        "DistributedError": ("loom_error_status",),
        "Store": "the processes' store of keys is for frontends written in Python",
        "array_from_local": ("loom_tensor_from_local_part",),
        "barrier": ("loom_distributed_barrier",),
        "dispatch": ("loom_sync",),
        "dispatch_at_exit": "C says itself what is handed over before its end, by `loom_sync`",
        "init": ("loom_distributed_initialize",),
        "is_initialized": ("loom_distributed_rank",),
        "local_array": ("loom_tensor_local_part",),
        "make_mesh": ("loom_tensor_shard",),
        "rank": ("loom_distributed_rank",),
        "shutdown": ("loom_distributed_finalize",),
        "world_size": ("loom_distributed_rank",),
    },
    "quantization": {
        "Quantized": ("loom_quantized_run",),
        "QuantizedValue": ("loom_quantized_json",),
        "quantize": ("loom_quantize_function",),
    },
}


def table() -> str:
    """The table as Markdown."""
    rows = ["| in Python | in C |", "|---|---|"]
    names = sorted(NAMES.items(), key=lambda item: item[0].lower())
    for module, members in MODULES.items():
        names += sorted((f"{module}.{name}", found) for name, found in members.items())
    for name, found in names:
        shown = found if isinstance(found, str) else ", ".join(f"`{f}`" for f in found)
        rows.append(f"| `{name}` | {shown} |")
    return "\n".join(rows)
