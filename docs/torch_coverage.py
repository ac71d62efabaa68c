"""Write torch_coverage.md: PyTorch's public names, and the results of the walk over its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conformance import torch_api

NOTICE = "<!-- Written by docs/generate.py from tests/conformance; do not edit. -->\n"
RESULTS = Path(torch_api.__file__).parent / "torch_results.json"


def _whole(r: dict[str, Any], part: str) -> str:
    of = r[f"{part}_samples"]
    if not of:
        return ""
    return "yes" if r[part] == of else f"{r[part]} of {of}"


def _forward(r: dict[str, Any]) -> str:
    return "yes" if r["forward"] == r["samples"] else f"{r['forward']} of {r['samples']}"


def _passes(r: dict[str, Any], part: str) -> bool:
    forward = r["forward"] == r["samples"] > 0 and not r["reads"]
    return forward and (part == "forward" or r[part] == r[f"{part}_samples"])


def _summary(results: list[dict[str, Any]]) -> str:
    backward = [r for r in results if r["backward_samples"]]
    shares = [("forward", results, "forward"), ("backward", backward, "backward"),
              *((name, [r for r in results if r[f"{part}_samples"]], part)
                for name, part in (("in place", "inplace"), ("`out=`", "out")))]
    return ", ".join(
        f"{name} {sum(_passes(r, part) for r in of)} of {len(of)}"
        for name, of, part in shares if of)


def _operators() -> list[str]:
    found = json.loads(RESULTS.read_text())
    by_dtype: dict[str, list[dict[str, Any]]] = {}
    for r in found.values():
        by_dtype.setdefault(r["dtype"], []).append(r)
    lines = [
        "## Operators, by PyTorch's own samples", "",
        "PyTorch 2.13 tests its operators with a table of sample inputs. "
        "`python -m tests.conformance.torch_db` calls every operator of the fixed list "
        "(`tests/conformance/torch_names.txt`) with every sample in both libraries and compares "
        "results, gradients, in-place variants and `out=`. A sample that reads data without being "
        "listed for it fails. Entries whose every sample agrees:", "",
        *[f"- {dtype}: {_summary(rs)}" for dtype, rs in sorted(by_dtype.items())],
        "", "Entry by entry, in float32 where PyTorch has that (empty: PyTorch has it not):", "",
        "| operator | forward | backward | in place | out= | what differs first |",
        "|---|---|---|---|---|---|",
    ]
    for r in sorted(found.values(), key=lambda r: r["name"]):
        if r["dtype"] != "float32" and f"{r['name']} float32" in found:
            continue
        first = "; ".join(f"{k}: {v}" for k, v in list(r["first"].items())[:1])
        cells = [_forward(r), *(_whole(r, p) for p in ("backward", "inplace", "out")),
                 first[:120].replace("|", "/")]
        name = r["name"].replace("|", ", ")
        name += "" if r["dtype"] == "float32" else f" {r['dtype']}"
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def page() -> str:
    """The page's text."""
    names = torch_api.names()
    total = sum(map(len, names.values()))
    has = {s: [n for n in found if torch_api.here(s, n)] for s, found in names.items()}
    count = sum(map(len, has.values()))
    lines = [
        NOTICE, "# What of PyTorch is here", "",
        f"{count} of the {total} public names of PyTorch 2.13 in {len(names)} modules, read off "
        "by introspection. `torch` itself also exports parts of its own machinery; what is left "
        "out says why below. That a name is here says nothing of its behaviour: the first table "
        "does, and `tests/torch`.", "",
        "| module | names | here |", "|---|---|---|",
        *[f"| `{s}` | {len(found)} | {len(has[s])} |" for s, found in names.items()], "",
        *(_operators() if RESULTS.exists() else []),
    ]
    lines += ["", "## Names that are not here"]
    for section, found in names.items():
        reasons: dict[str, list[str]] = {}
        for n in found:
            if n not in has[section]:
                reasons.setdefault(torch_api.reason(section, n) or "not built", []).append(n)
        if reasons:
            lines += ["", f"### {section}", ""]
            lines += [f"- {why}: {', '.join(f'`{n}`' for n in which)}"
                      for why, which in sorted(reasons.items())]
    return "\n".join(lines) + "\n"
