"""Running a program in all forms, and shrinking one that breaks a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from lazyloom import codegen

from . import forms, rules
from .rules import Fault
from .shades import Shade
from .shadow import Shadows

#: code generators whose normalisations take a mean off that is rounded, as the contract says
_ROUND_MEANS: Final = {"onednn", "onnxruntime"}


class Broken(NamedTuple):
    """A fault of a form."""

    form: str
    fault: Fault

    def text(self) -> str:
        f = self.fault
        return f"{self.form}: {f.rule}: result {f.result}, {f.count} elements: {f.text}"


class Oracle:
    """What runs programs in forms, and holds them to their shadows.

    Attributes:
        ran: how often each form ran a program.
        left: why a form did not run one.
        told: of how many elements how much was known.
        faults: how many programs broke which rule in which form.
    """

    def __init__(self, chosen: Sequence[str] = forms.ALL) -> None:
        self.forms = tuple(chosen)
        self.shadows = Shadows()
        self.elsewhere: dict[str, Any] = {}
        self.ran: Counter[str] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()
        self.told: Counter[str] = Counter()
        self.faults: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.shadows.close()
        for process in self.elsewhere.values():
            process.close()
        self.elsewhere.clear()

    def check(self, program: Any, chosen: Sequence[str] | None = None) -> list[Broken]:
        """What of a program is wrong, in which form."""
        self.shadows.ask(program)
        outcomes = [(form, self._outcome(program, form)) for form in chosen or self.forms]
        shadow = self.shadows.answer()
        rounded = shadow
        if "layer_norm" in program.text() and _ROUND_MEANS & set(codegen.available()):
            self.shadows.ask(program, "rounded")
            rounded = self.shadows.answer()
        told: Counter[str] = Counter()
        # integers whose number no rule decides are 0 there, and in no form
        unknown = isinstance(shadow, str) and "ZeroDivisionError" in shadow and not any(
            isinstance(found, Exception) and not isinstance(found, forms.NotThisForm)
            for _, found in outcomes)
        broken: list[Broken] = []
        first: Any = None
        whole: Any = None
        held: dict[bool, dict[tuple[Any, ...], list[Fault]]] = {False: {}, True: {}}
        for form, found in outcomes:
            if isinstance(found, forms.NotThisForm):
                self.left[form, str(found)] += 1
                continue
            if isinstance(found, Exception):
                lost = isinstance(found, ConnectionError)
                if lost or not isinstance(shadow, str):
                    text = str(found) if form in forms.ELSEWHERE else (
                        f"{type(found).__name__}: {found}")
                    broken.append(Broken(form, Fault("raises", 0, 1, text[:300])))
                continue
            self.ran[form] += 1
            if isinstance(shadow, str):
                if unknown:
                    self.left[form, "its shadow does not know what it divides by"] += 1
                    continue
                broken.append(
                    Broken(form, Fault("raises", 0, 1, f"not, its shadow {shadow[:300]}")))
                continue
            loose = rounded is not shadow and form in forms.GENERATED
            broken += self._faults(
                form, found, rounded if loose else shadow, first, whole, told, held[loose])
            first = found if first is None else first
            whole = found if form == "compiled" else whole
        self.told.update(told)
        return broken

    def _faults(
        self, form: str, found: Any, shadow: list[Shade], first: Any, whole: Any,
        told: Counter[str], held: dict[tuple[Any, ...], list[Fault]],
    ) -> list[Broken]:  # fmt: skip
        """What is wrong with a form's results; ``held`` has it of results with the same bits."""
        made: list[Fault] = []
        for number, (x, shade) in enumerate(zip(found, shadow, strict=True)):
            key = number, x.dtype, x.shape, x.tobytes()
            known = held.get(key)
            if known is None:
                known = rules.faults(x, shade, number, told)
                if first is not None:
                    known += rules.unlike(x, first[number], shade, number)
                held[key] = known
            made += known
            if form == "again" and whole is not None:
                made += rules.same_bits(x, whole[number], number)
        return [Broken(form, f) for f in made]

    def _outcome(self, program: Any, form: str) -> Any:
        """The results of a program in a form, or what it raised."""
        try:
            return self._run(program, form)
        except Exception as error:
            if isinstance(error, ConnectionError):
                self.elsewhere.pop(form, None)
            return error

    def _run(self, program: Any, form: str) -> Any:
        if form not in forms.ELSEWHERE:
            return forms.run(program, form)
        process = self.elsewhere.get(form)
        if process is None:
            process = self.elsewhere[form] = forms.Elsewhere(form)
        return process.run(program)

    def count(self, broken: Sequence[Broken]) -> None:
        self.faults.update({(b.form, b.fault.rule) for b in broken})

    def shrunk(self, program: Any, broken: Sequence[Broken], most: int = 60) -> Any:
        """The smallest program found that breaks the same rule in the same form."""
        form, rule = broken[0].form, broken[0].fault.rule
        needed = [form] if rule not in ("again", "untold") else [
            f for f in ("op_by_op", "compiled", form) if f in self.forms]
        kept = (self.ran.copy(), self.left.copy(), self.told.copy())
        tries = 0
        again = True
        while again and tries < most:
            again = False
            for smaller in program.smaller():
                tries += 1
                if tries > most:
                    break
                try:
                    bad = self.check(smaller, dict.fromkeys(needed))
                except (NameError, SyntaxError):
                    continue
                if any(b.form == form and b.fault.rule == rule for b in bad):
                    program, again = smaller, True
                    break
        self.ran, self.left, self.told = kept
        return program

    def summary(self) -> str:
        """A table of forms and rules: how many programs broke which."""
        head = f"{'form':12}{'programs':>10}" + "".join(f"{r:>9}" for r in rules.RULES)
        lines = [head]
        for form in self.forms:
            lines.append(f"{form:12}{self.ran[form]:>10}" + "".join(
                f"{self.faults[form, rule]:>9}" for rule in rules.RULES))
        total = sum(self.told.values()) or 1
        lines.append("elements: " + ", ".join(
            f"{name} {count / total:.1%}" for name, count in sorted(self.told.items())))
        for form, count in sorted(Counter(
            {f: sum(c for (g, _), c in self.left.items() if g == f) for f in self.forms}).items()):
            if count:
                whys = Counter({w: c for (g, w), c in self.left.items() if g == form})
                lines.append(f"not {form}: {count}, mostly {whys.most_common(1)[0][0][:80]}")
        return "\n".join(lines)
