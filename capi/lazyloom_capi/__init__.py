"""The C ABI: builds ``liblazyloom.so`` and generates ``lazyloom_ops.h``.

The contract is ``lazyloom.h``. ``python -m lazyloom_capi --cflags --libs`` prints
what a C compiler needs.
"""
