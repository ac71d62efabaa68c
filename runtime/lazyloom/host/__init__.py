"""Ops as functions of NumPy, for the form that runs before anything is compiled.

Which C is where (:file:`runtime/native/README.md` has the extension modules):

- :mod:`.c_source` writes functions of host kernels from an op's jaxpr, which run small arrays op by
  op (:func:`.native.is_quicker`). They are compiled with the package, or on demand.
- ``codegen/c_kernels`` and ``runtime/native/c_kernels`` are the code generator ``c``: sorts from
  512 elements on, scans from 2,048, gradients of maxima over windows from 16,384.
- ``runtime/native/host_calls`` calls the functions of host kernels on arrays, and runs op-by-op
  schedules.
- ``runtime/native/regions`` lets XLA's programs call code generators.
- ``runtime/native/onednn`` is the code generator ``onednn``.
"""
