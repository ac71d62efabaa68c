"""Collected only in a process with eight devices, which ``../test_eight_devices.py`` starts."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("LAZYLOOM_TEST_DEVICES") else ["*"]
