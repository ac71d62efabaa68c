"""Why a stored engine is of no use in this process."""

from __future__ import annotations

import json
from typing import Any

from ..interrupts import reraise_from_handler
from . import registry
from .faults import told


def refusal(description: bytes) -> str:
    """Return why a stored engine is of no use here, by its description; "" if it is of use."""
    try:
        fields: Any = json.loads(description)
        name, version = str(fields["generator"]), str(fields["version"])
        needed = {str(k): str(v) for k, v in fields["requirements"].items()}
    except (ValueError, LookupError, TypeError, AttributeError):
        return "damaged: it does not say whose it is"
    generator = registry.available().get(name)
    if generator is None:
        return f"an engine of the code generator {name}, which is not here"
    here = registry.identity(generator)
    if version != here:
        return f"an engine of {name} {version}, here {here}"
    try:
        found = dict(generator.requirements())
    except Exception as error:
        reraise_from_handler(error)
        return f"{name} does not say what its engines need: {told(error)}"
    differ = [f"{k} {needed.get(k, 'none')}, here {found.get(k, 'none')}"
              for k in sorted({*needed, *found}) if needed.get(k) != found.get(k)]
    return f"an engine of {name} that needs {'; '.join(differ)}" if differ else ""
