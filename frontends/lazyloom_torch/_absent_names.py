"""What of PyTorch is not here, and why: whole modules, names of modules that are here, dtypes."""

from __future__ import annotations

from typing import Final

_TRACED: Final = (
    "operations are recorded as the program runs and compiled by XLA; there is no other tracer or "
    "compiler whose graphs one could get")
_SCRIPT: Final = "a part of TorchScript or of PyTorch's own machinery, which is not here"
ALONE: Final = (
    "torch.distributed has process groups, collectives, stores and DistributedDataParallel; this "
    "part of it is not built")
_DENSE: Final = (
    "tensors are dense, or sparse of layout COO, CSR or CSC; use torch.sparse.mm and its kin")
_NESTED: Final = "nested tensors are not supported; use padding and a mask"
_QUANTISED: Final = "quantised tensors are not supported"
_DEVICE: Final = "names a device or backend of PyTorch's own; tensors live on the CPU"
_SPARSE_GRADIENTS: Final = "gradients of embeddings are dense; use Adam"
_ONE_DEVICE: Final = "there is one device; a module runs on it as it is"
_MEMORY: Final = "memory is not addressable: it belongs to XLA"
_NO_DTYPE: Final = "XLA's CPU programs do not compute in this dtype; cast to bfloat16 or float16"
_NARROW: Final = "elements narrower than a byte are not supported; use int8 or uint8"
_KERNEL: Final = "an internal kernel of PyTorch, without documentation"
_OLD: Final = "deprecated in PyTorch, and not built"
_PIPES: Final = "data pipes are deprecated; use Dataset and DataLoader"
_MASKED: Final = "there is no class of masked tensors; the functions of torch.masked take a mask"
_PROFILED: Final = (
    "programs are profiled by their evaluations: lazyloom.last_evaluation().text() says what ran "
    "and how long each phase took")
UNCOUNTED: Final = "operations are not counted as they are recorded; " + _PROFILED

_DISTRIBUTED: Final = """
    _checkpointable _composable_state _dist2
    _functional_collectives_impl _local_tensor _mesh_layout _meta_registrations _ops _pycute
    _serialization _shard _sharded_tensor _sharding_spec _state_dict_utils _symmetric_memory
    _tools algorithms._comm_hooks algorithms._optimizer_overlap
    algorithms._quantization algorithms.ddp_comm_hooks.ddp_zero_hook
    algorithms.ddp_comm_hooks.mixed_precision_hooks
    algorithms.ddp_comm_hooks.optimizer_overlap_hooks argparse_util autograd c10d_logger
    checkpoint.quantized_hf_storage
    collective_utils config constants debug elastic.agent elastic.control_plane
    elastic.events elastic.metrics elastic.multiprocessing.api
    elastic.multiprocessing.redirects elastic.multiprocessing.subprocess_handler
    elastic.multiprocessing.tail_log elastic.rendezvous elastic.timer elastic.utils flight_recorder
    launch launcher logging_handlers nn.api nn.jit optim._deprecation_warning
    optim.apply_optimizer_in_backward optim.functional_adadelta optim.functional_adagrad
    optim.functional_adam optim.functional_adamax optim.functional_adamw optim.functional_rmsprop
    optim.functional_rprop optim.functional_sgd optim.named_optimizer optim.optimizer
    optim.utils pipelining remote_device rendezvous rpc run tensor.debug utils"""

#: modules of which nothing is here, with all below them
MODULES: Final[dict[str, str]] = {
    **dict.fromkeys((
        "fx", "_dynamo", "_inductor", "_custom_ops", "_export", "export", "_subclasses",
        "_prims", "_prims_common", "_refs", "_decomp", "_functorch", "_guards", "_lazy",
        "_logging", "_meta_registrations", "fb", "utils._sympy", "utils.viz", "package"),
        _TRACED),
    "onnx": "torch.onnx.export writes models by Lazyloom's own mapping of its ops to ONNX, which "
            "lazyloom.export_onnx has for other programs",
    **dict.fromkeys(("utils.mobile_optimizer", "jit.mobile"),
                    "models are not exported to these runtimes"),
    **dict.fromkeys(("ao", "quantization", "nn.quantized", "nn.quantizable", "nn.intrinsic",
                     "nn.qat"), _QUANTISED),
    **{f"distributed.{name}": ALONE for name in _DISTRIBUTED.split()},
    "nested": _NESTED,
    "monitor": _PROFILED,
    "utils.benchmark": "recording returns before anything ran; time with timeit around a function "
                       "that ends in lazyloom.sync(wait=True)",
    "utils.bottleneck": _PROFILED,
    "utils.cpp_extension": "there is no ABI of PyTorch's for C++ to link with; see docs/c-abi.md",
    "utils.data.datapipes": _PIPES,
    "utils.data.graph": _PIPES,
    "nn.attention.flex_attention": "a score function and a block mask are not compiled into a "
                                   "kernel; use scaled_dot_product_attention with a mask",
    "nn.attention.bias": "use scaled_dot_product_attention with is_causal or a mask",
    "nn.attention.varlen": _NESTED,
    **dict.fromkeys(("backends.cusparselt", "backends.kleidiai", "backends.mha", "backends.miopen",
                     "backends.nnpack", "backends.python_native", "xpu.random"), _DEVICE),
    "backends.quantized": _QUANTISED,
    "nn.attention.experimental": _TRACED,
    "optim.sparse_adam": _SPARSE_GRADIENTS,
    "quasirandom": "Sobol sequences are scipy.stats.qmc.Sobol's; give its numbers to torch.tensor",
    "signal.windows.windows": "its functions are in torch.signal.windows",
    **dict.fromkeys(("utils.backcompat", "utils.deterministic", "utils.module_tracker",
                     "utils.serialization", "utils.weak", "utils.collect_env"), _SCRIPT),
    "numa": "where memory and threads lie is the system's affair",
    "utils.data.graph_settings": _PIPES,
    "utils.data.backward_compatibility": _PIPES,
    **dict.fromkeys(("nn.parallel.comm", "nn.parallel.parallel_apply", "nn.parallel.replicate",
                     "nn.parallel.scatter_gather"), _ONE_DEVICE),
    "_C._distributed_c10d": ALONE,
    "multiprocessing.reductions": _MEMORY,
    "masked.maskedtensor": _MASKED,
    **dict.fromkeys(("profiler.profiler", "profiler.itt", "profiler.python_tracer",
                     "autograd.profiler_util", "autograd.profiler_legacy"), _PROFILED),
    **dict.fromkeys(("jit.frontend", "jit.generate_bytecode", "jit.quantized", "jit.supported_ops",
                     "jit.unsupported_tensor_ops", "utils.jit", "classes", "nativert",
                     "utils.bundled_inputs", "utils.model_dump", "utils.show_pickle",
                     "utils.mkldnn", "utils.throughput_benchmark", "utils.cpp_backtrace",
                     "utils.hipify", "utils.file_baton", "utils.debug_log",
                     "utils.backend_registration", "nn.cpp", "nn.backends", "contrib",
                     "compiler.config"), _SCRIPT),
    **dict.fromkeys(("accelerator.graphs", "accelerator.memory", "cuda.gds", "cuda.green_contexts",
                     "cuda.jiterator", "cuda.memory", "cuda.profiler", "cuda.sparse",
                     "cuda.streams", "cuda.amp.common", "mps.event", "mps.profiler", "mtia.memory",
                     "mtia.mtia_graph", "xpu.graphs", "xpu.memory", "xpu.streams"), _DEVICE),
    "cuda.nvtx": _DEVICE, "cuda.graphs": _DEVICE, "cuda.nccl": _DEVICE, "cuda.comm": _DEVICE,
    "cuda.tunable": _DEVICE,
}  # fmt: skip


def _by_reason(*lists: tuple[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in lists for name in names.split()}


_MACHINERY: Final = """
    AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig
    BenchmarkExecutionStats Block BoolType CallStack Capsule ClassType Code
    CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType
    ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext
    DeviceObjType DictType DispatchKey DispatchKeySet EnumType ErrorReport
    ExcludeDispatchKeyGuard ExecutionPlan FloatType FunctionSchema Future FutureType
    Gradient Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType
    ListType LiteScriptModule LockingLogger LoggerBase Node NoneType NoopLogger NumberType
    OperatorInfo OptionalType PRIVATE_OPS PyObjectType PyTorchFileReader PyTorchFileWriter
    RRefType SUM ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator
    ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator ScriptMethod
    ScriptModule ScriptModuleSerializer ScriptObject ScriptObjectProperty
    SerializationStorageContext StaticModule StringType SymBool SymBoolType SymFloat SymInt
    SymIntType Tag TensorType TracingState TupleType Type USE_GLOBAL_DEPS
    USE_RTLD_GLOBAL_WITH_LIBTORCH UnionType Use Value fork get_file_path
    import_ir_module import_ir_module_from_buffer init_num_threads
    merge_type_from_type_comment parse_ir parse_schema parse_type_comment
    prepare_multiprocessing_environment sym_constrain_range sym_constrain_range_for_size
    sym_fresh_size unify_type_list wait"""
_STREAMS: Final = "Event Stream StreamContext stream current_stream set_stream"

#: module: name in it: why it is not here
NAMES: Final[dict[str, dict[str, str]]] = {
    "": _by_reason(
        (_SCRIPT, _MACHINERY),
        (_MEMORY, """
            BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage
            ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage
            QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage ShortStorage
            Storage StorageBase TypedStorage UntypedStorage"""),
        (_DEVICE, """
            Event Stream StreamObjType ThroughputBenchmark cudnn_affine_grid_generator
            cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
            cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable
            get_autocast_ipu_dtype get_autocast_xla_dtype get_device_module
            is_autocast_ipu_enabled is_autocast_xla_enabled
            miopen_batch_norm miopen_convolution miopen_convolution_add_relu
            miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss
            miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution
            mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer
            profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 set_autocast_ipu_dtype
            set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled"""),
        (_KERNEL, """
            batch_norm_backward_elemt batch_norm_backward_reduce
            batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts
            batch_norm_stats batch_norm_update_stats from_file
            native_dropout native_group_norm native_norm norm_except_dim
            slice_inverse indices_copy"""),
        (_DENSE, """
            ccol_indices_copy col_indices_copy crow_indices_copy hsmm hspmm resize_as_sparse_
            row_indices_copy saddmm smm sparse_bsc sparse_bsc_tensor sparse_bsr sparse_bsr_tensor
            sspaddmm values_copy"""),
        (_QUANTISED, """
            choose_qparams_optimized dequantize empty_quantized fbgemm_linear_fp16_weight
            fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
            fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
            fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix
            fused_moving_avg_obs_fake_quant int_repr per_channel_affine
            per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine
            per_tensor_symmetric q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
            q_scale q_zero_point qscheme quantize_per_channel quantize_per_tensor
            quantize_per_tensor_dynamic quantized_batch_norm quantized_gru quantized_gru_cell
            quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
            quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell"""),
        (_NESTED, "jagged"),
        (_QUANTISED, "_scaled_mm _scaled_mm_v2 _make_per_tensor_quantized_tensor "
                     "_make_per_channel_quantized_tensor"),
        (_OLD, "eig frobenius_norm legacy_contiguous_format lobpcg lstsq matrix_rank nuclear_norm "
               "set_default_tensor_type solve symeig to_dlpack"),
    ),
    "cuda": _by_reason(
        (_DEVICE, _STREAMS + """
            CUDAGraph CUDAPluggableAllocator ExternalStream GreenContext MemPool cudart
            default_stream get_stream_from_external graph graph_pool_handle
            make_graphed_callables use_mem_pool device_of cudaStatus check_error jiterator
            BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor
            IntTensor LongTensor ShortTensor"""),
        (_MEMORY, """
            BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage
            ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage
            ShortStorage"""),
    ),
    "cpu": _by_reason((_DEVICE, _STREAMS)),
    "xpu": _by_reason((_DEVICE, _STREAMS)),
    "mps": _by_reason((_DEVICE, "Event compile_shader load_metallib profiler")),
    "accelerator": _by_reason((_DEVICE, "Graph current_stream set_stream")),
    "jit": _by_reason(
        (_SCRIPT, "Attribute CompilationUnit Error Future RecursiveScriptModule ScriptFunction "
                  "ScriptModule TracerWarning TopLevelTracedModule export_opnames fork freeze "
                  "load optimize_for_inference save trace_module wait")),
    "masked": _by_reason((_MASKED, "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor")),
    "nn.functional": _by_reason((_QUANTISED, "scaled_grouped_mm scaled_mm ScalingType "
                                             "SwizzleType")),
    "nn.parallel": _by_reason(
        (_ONE_DEVICE, "gather parallel_apply replicate scatter")),
    "backends.cuda": _by_reason((_DEVICE, "SDPAParams cufft_plan_cache preferred_linalg_library")),
    "optim": _by_reason((_SPARSE_GRADIENTS, "SparseAdam")),
    "linalg": _by_reason((_OLD, "ldl_factor ldl_factor_ex ldl_solve")),
    "utils.data": _by_reason((_PIPES, """
        DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe
        guaranteed_datapipes_determinism non_deterministic runtime_validation
        runtime_validation_disabled""")),
    "profiler": _by_reason((_PROFILED, """
        profile schedule tensorboard_trace_handler ProfilerAction ProfilerActivity
        ExecutionTraceObserver supported_activities DeviceType itt""")),
    "autograd.profiler": _by_reason((_PROFILED, """
        profile emit_itt emit_nvtx load_nvprof EnforceUnique parse_nvprof_trace
        KinetoStepTracker EventList FunctionEvent MemRecordsAcc""")),
    "_C": _by_reason((_SCRIPT, _MACHINERY)),
}

#: dtype: bytes of an element, whether it has negative numbers, why no tensor has it
DTYPES: Final[dict[str, tuple[int, bool, str]]] = {
    **{name: (1, name != "float8_e8m0fnu", _NO_DTYPE) for name in (
        "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
        "float4_e2m1fn_x2")},
    "complex32": (4, True, "XLA has no complex numbers of half precision; use complex64"),
    "chalf": (4, True, "XLA has no complex numbers of half precision; use complex64"),
    **{f"int{n}": (1, True, _NARROW) for n in range(1, 8)},
    **{f"uint{n}": (1, False, _NARROW) for n in range(1, 8)},
    **dict.fromkeys(("bit", "bits1x8", "bits2x4", "bits4x2", "bits8"), (1, False, _NARROW)),
    "bits16": (2, False, _NARROW),
    **{name: (size, name[1] == "i", _QUANTISED) for name, size in (
        ("qint8", 1), ("quint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1))},
}
