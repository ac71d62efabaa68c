"""From samples to tables: the results' JSON and the page."""

from __future__ import annotations

from typing import Any

from .summary import digits, in_words, paired_ratio, summary
from .workload import Case, Limit, Workload

Json = dict[str, Any]


def tables_of(workload: Workload, case: Case, samples: Json,
              missing: dict[str, str]) -> dict[str, Json]:  # fmt: skip
    """One table a measure of a case: rows of summaries and ratios.

    ``ended`` has the contenders whose work was ended before the measure was known, and after how
    many seconds; they have no row then.
    """
    case_name, base_row = case.name, case.base or workload.base
    measures: dict[str, None] = {}
    for found in samples.values():
        measures.update(dict.fromkeys([*found["measures"], *found.get("ended", ())]))
    tables: dict[str, Json] = {}
    for measure in measures:
        base = samples.get(base_row, {"measures": {}})["measures"].get(measure)
        rows: Json = {}
        for contender in workload.contenders:
            found = samples.get(contender.name)
            values = found["measures"].get(measure) if found else None
            if not values or found is None or measure in found.get("ended", ()):
                continue
            row = {"peer": contender.peer, "threads": found["threads"], **summary(values)}
            row["ratio"] = paired_ratio(values, base) if base else None
            if found["note"]:
                row["note"] = found["note"]
            rows[contender.name] = row
        name = f"{case_name}: {measure}" if measure and case_name else measure or case_name
        tables[name] = {
            "unit": workload.measures.get(measure, "s"), "per": case.per, "base": base_row,
            "note": case.note, "rows": rows, "absent": dict(missing),
            "ended": {n: case.limit for n, s in samples.items() if measure in s.get("ended", ())},
            "samples": {
                n: s["measures"][measure] for n, s in samples.items() if measure in s["measures"]},
        }  # fmt: skip
    return tables


def judged(limit: Limit, tables: dict[str, Json]) -> list[Json]:
    """The limit in each table it is meant for and each row of ours: what was reached."""
    found = []
    for name, table in tables.items():
        if not any(name.startswith(prefix) for prefix in limit.tables):
            continue
        for ours in limit.ours:
            row = table["rows"].get(ours)
            ended = table["ended"].get(ours)
            if row is None and ended is None:
                continue
            entry: Json = {"what": limit.what, "table": name, "row": ours, "at_most": limit.at_most,
                           "plus": limit.plus, "reached": None, "met": None}  # fmt: skip
            if ended is not None or row is None:
                if limit.against:
                    entry["against"] = " or ".join(limit.against)
                else:
                    entry["unit"] = table["unit"]
                found.append({**entry, "over": ended, "met": False})
                continue
            if limit.against:
                rivals = [r for r in limit.against if r in table["rows"]]
                if rivals:
                    best = min(rivals, key=lambda r: table["rows"][r]["median"])
                    entry["against"] = best
                    entry.update(_compared(limit, table["samples"][ours], table["samples"][best]))
                else:
                    entry["against"] = " or ".join(limit.against) + " (absent)"
            else:
                entry["reached"] = row["median"]
                entry["unit"] = table["unit"]
            if entry["reached"] is not None:
                entry["met"] = entry["reached"] <= limit.at_most
            found.append(entry)
    return found


def _compared(limit: Limit, ours: list[float], theirs: list[float]) -> Json:
    """By how many times ours took theirs, after the seconds that are allowed in any case."""
    ratio = paired_ratio([max(0.0, a - limit.plus) for a in ours], theirs)
    return {"reached": ratio["median"] if ratio else None}


def without_samples(tables: dict[str, Json]) -> dict[str, Json]:
    """The tables as they are stored: summaries, not every sample."""
    return {n: {k: v for k, v in t.items() if k != "samples"} for n, t in tables.items()}


def page(results: Json) -> str:
    """The Markdown page of a results file."""
    m = results["machine"]
    versions = ", ".join(f"{name} {text}" for name, text in results["versions"].items())
    quick = " This was a quick run, to see that it works; its figures mean little." if (
        results["quick"]) else ""  # fmt: skip
    load = results["load"]
    lines = [
        "<!-- Written by benchmarks/run.py; do not edit. -->",
        "",
        "# Benchmarks",
        "",
        f"{m['processor']}, {m['cores']} cores, {m['memory_bytes'] / 2**30:.0f} GiB, {m['system']}"
        f"{', ' + m['gpu'] if m['gpu'] else ''}, {results['date']}. Load average {load['start']} "
        f"at the start and {load['end']} at the end; the suite's own work is part of the latter. "
        f"Lazyloom's core is {m.get('core', 'of unknown kind')}. Versions: {versions}.{quick}",
        "",
        "Every contender runs in a process of its own, warmed up; within a table all take turns, "
        "round after round. Times are medians with quartiles in brackets. The ratio is the median "
        "over the rounds of the contender's time divided by that of the row in bold in the same "
        "round: ours, or the peer's where first runs are measured. Threads: the number that each "
        "contender was fastest with where several were tried, else all; a dash where it cannot be "
        "set. "
        "`make bench` writes this page again; [how it is made](../../benchmarks/README.md).",
    ]
    if results.get("absent"):
        lines += ["", "Absent: " + "; ".join(
            f"{name} ({reason})" for name, reason in results["absent"].items()) + "."]
    lines += ["", *_targets(results)]
    for workload in results["workloads"].values():
        measured = f" Measured {workload['date']}." if "date" in workload else ""
        lines += ["", f"## {workload['title']}", "", workload["about"] + measured]
        if workload.get("skipped"):
            lines += ["", f"Skipped: {workload['skipped']}."]
            continue
        for table_name, table in workload["tables"].items():
            lines += ["", *_table(table_name, table)]
        if workload.get("plot"):
            lines += ["", f"![{workload['title']}: the figures as bars]({workload['plot']})"]
    return "\n".join(lines) + "\n"


def _targets(results: Json) -> list[str]:
    entries = [e for w in results["workloads"].values() for e in w.get("targets", [])]
    if not entries:
        return []
    lines = ["## Targets", "",
             "| what | where | row | compared with | at most | reached | met |",
             "|---|---|---|---|--:|--:|:-:|"]  # fmt: skip
    for e in entries:
        plus = f" and {in_words(e['plus'])}" if e.get("plus") else ""
        if e.get("over"):
            reached, met = f"over {digits(e['over'])} s", "**no**"
        elif e["reached"] is None:
            reached, met = "-", "not measured"
        else:
            reached = in_words(e["reached"], e["unit"]) if "unit" in e else digits(e["reached"])
            reached, met = reached + plus, "yes" if e["met"] else "**no**"
        bound = in_words(e["at_most"], e["unit"]) if "unit" in e else digits(e["at_most"]) + plus
        lines.append(f"| {e['what']} | {e['table']} | {e['row']} | {e.get('against', '')} | "
                     f"{bound} | {reached} | {met} |")
    return lines


def _table(name: str, table: Json) -> list[str]:
    lines = [f"### {name}" if name else "### Time", ""]
    lines += [f"| contender | per {table['per']} | ratio | threads |", "|---|--:|--:|--:|"]
    unit = table["unit"]
    for contender, row in table["rows"].items():
        shown = f"**{contender}**" if contender == table["base"] else contender
        if row.get("note"):
            shown += f" ({row['note']})"
        low, high = (in_words(row[k], unit) for k in ("lower_quartile", "upper_quartile"))
        ratio = digits(row["ratio"]["median"]) if row["ratio"] else ""
        threads = row["threads"] if row["threads"] is not None else "-"
        median = in_words(row["median"], unit)
        lines.append(f"| {shown} | {median} ({low} to {high}) | {ratio} | {threads} |")
    for contender, seconds in table.get("ended", {}).items():
        lines.append(f"| {contender} | over {digits(seconds)} s: ended | | |")
    for contender, reason in table["absent"].items():
        what = reason if reason.startswith("failed") else f"absent: {reason}"
        lines.append(f"| {contender} | {what.replace('|', '/')} | | |")
    if table["note"]:
        lines += ["", table["note"]]
    return lines
