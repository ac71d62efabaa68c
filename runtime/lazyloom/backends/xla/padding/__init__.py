"""Ops at dynamic extents as functions of operands that are padded to a bucket."""
