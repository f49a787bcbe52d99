"""A gate as a user declares it: pass probabilities by turn kind, tool and check, retries, give-up policy, costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MOST_DRAWS = 1000
"""Draws of a turn at most where the gate itself sets no limit: guards against a pass probability near 0."""
CALL, ANSWER = "call", "answer"
"""Kinds of turns: those that call tools, and the others."""


class Check(StrEnum):
    """What a gate looks at, in the order in which it does: a draw that one check rejects reaches none after it."""

    ANY = "any"
    """A pass probability given without naming a check."""
    SCHEMA = "schema"
    """Whether calls are valid under their tools' schemas."""
    TESTS = "tests"
    JUDGE = "judge"
    """A model's or a person's opinion."""


DEFAULT_KIND = {Check.SCHEMA: CALL, Check.TESTS: CALL, Check.JUDGE: ANSWER}
"""Turns that a check looks at where no kind is named."""
NAMED = tuple(DEFAULT_KIND)
"""Checks that a gate can name."""


class RetryPrompt(StrEnum):
    """What a further draw is made from."""

    SAME = "same"
    APPENDED = "error"
    """The rejected draw and its error are appended to the prompt."""


class GiveUp(StrEnum):
    """What becomes of a turn of which no draw passed."""

    LAST = "last"
    """The last draw is taken all the same."""
    FAIL = "fail"
    """The turn counts as not accepted; the session goes on."""
    END = "end"
    """The turn counts as not accepted, and what is left of its session is not sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How often draws pass a check, of turns of one kind."""

    check: Check
    kind: str
    """CALL, ANSWER, or the name of a tool, which then stands in the place of CALL for turns that call it."""
    passing: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCost:
    """What one check costs beyond any verdict."""

    check: Check
    seconds: float = 0.0
    gpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """A gate. Raises ValueError, with name, value and range, for values out of range."""

    pass_call: float = 1.0
    """Probability that a draw passes, of turns that call tools."""
    pass_answer: float = 1.0
    """The same of other turns."""
    rules: tuple[Rule, ...] = ()
    """Pass probabilities by check and by tool. A draw passes if it passes each check that looks at its turn."""
    max_draws: int | None = None
    """None: drawn until one passes (geometric)."""
    parallel_draws: int | None = None
    """Draws sent at once, the best kept (best-of-n); None: one after the other."""
    prompt: RetryPrompt = RetryPrompt.SAME
    error_tokens: int = 0
    """Length of the error that is appended with each rejected draw."""
    give_up: GiveUp = GiveUp.LAST
    gate_s: float = 0.0
    """Seconds that a verdict takes."""
    gate_gpu_s: float = 0.0
    """GPU seconds that a verdict costs, beside the engine's."""
    check_costs: tuple[CheckCost, ...] = ()
    """What single checks add to that, for the draws that reach them."""

    def __post_init__(self) -> None:
        for shown, value in self._probabilities():
            if not 0 < value <= 1:
                raise ValueError(f"--gate {shown} is {value}; it must be above 0 and at most 1")
        for name in ("max_draws", "parallel_draws"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST_DRAWS:
                raise ValueError(f"--gate {name} is {value}; it must be within 1 and {MOST_DRAWS}")
        costs = [cost for one in self.check_costs for cost in (one.seconds, one.gpu_seconds)]
        if min(self.error_tokens, self.gate_s, self.gate_gpu_s, *costs) < 0:
            raise ValueError("--gate: error tokens and costs of the gate must not be negative")
        if self.parallel_draws is not None and (self.prompt is RetryPrompt.APPENDED or self.max_draws is not None):
            raise ValueError("--gate: draws sent at once have one prompt and one round; leave prompt and max_draws out")
        named = [(rule.check, rule.kind) for rule in self.rules]
        if len(set(named)) < len(named):
            raise ValueError("--gate: give each check one pass probability a kind")
        unruled = {one.check for one in self.check_costs} - {rule.check for rule in self.rules}
        if unruled:
            raise ValueError(f"--gate: {', '.join(sorted(unruled))} has a cost but no pass probability; give both")

    def _probabilities(self) -> Iterable[tuple[str, float]]:
        yield from (("pass_call", self.pass_call), ("pass_answer", self.pass_answer))
        yield from ((f"{rule.check}:{rule.kind}", rule.passing) for rule in self.rules)

    def passing(self, check: Check) -> dict[str, float]:
        """Pass probability of *check* by kind of turn; kinds that it doesn't look at are left out."""
        found = {rule.kind: rule.passing for rule in self.rules if rule.check is check}
        return {CALL: self.pass_call, ANSWER: self.pass_answer} | found if check is Check.ANY else found

    def cost(self, check: Check) -> CheckCost:
        """What *check* adds to a verdict."""
        return next((one for one in self.check_costs if one.check is check), CheckCost(check=check))


def parse_gate(text: str) -> GateConfig:
    """Read ``call=0.9,call:bash=0.8,judge=0.95,draws=3,prompt=error,error-tokens=40,give-up=end,ms=50,gpu-ms:judge=5``.

    Raises ValueError for unknown names and values out of range.
    """
    values: dict[str, object] = {}
    rules: list[Rule] = []
    costs: dict[Check, CheckCost] = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if not sign:
            raise ValueError(f"--gate {text!r}: {part.strip()!r} has no value")
        try:
            word, _, kind = name.strip().partition(":")
            if word in ("ms", "gpu-ms") and kind:
                _add_cost(costs, Check(kind), word, float(value))
            elif word in NAMED or (word == CALL and kind):
                rules.append(_rule(word, kind, float(value)))
            else:
                values |= _setting(name.strip(), value.strip())
        except (ValueError, KeyError):
            raise ValueError(
                f"--gate {text!r}: {part.strip()!r} is no setting; use call, call:TOOL, answer; {', '.join(NAMED)} "
                f"alone or with :call, :answer or :TOOL; draws, best-of, prompt ({', '.join(RetryPrompt)}), "
                f"error-tokens, give-up ({', '.join(GiveUp)}), ms, gpu-ms, for one check as in gpu-ms:judge"
            ) from None
    return GateConfig(rules=tuple(rules), check_costs=tuple(costs.values()), **values)  # type: ignore[arg-type]


def _rule(word: str, kind: str, passing: float) -> Rule:
    check = Check.ANY if word == CALL else Check(word)
    return Rule(check=check, kind=kind or DEFAULT_KIND[check], passing=passing)


def _add_cost(costs: dict[Check, CheckCost], check: Check, word: str, milliseconds: float) -> None:
    before = costs.get(check, CheckCost(check=check))
    seconds = milliseconds / 1e3
    costs[check] = CheckCost(
        check=check,
        seconds=seconds if word == "ms" else before.seconds,
        gpu_seconds=seconds if word == "gpu-ms" else before.gpu_seconds,
    )


def _setting(name: str, value: str) -> dict[str, object]:
    if name in (CALL, ANSWER):
        return {f"pass_{name}": float(value)}
    if name in ("ms", "gpu-ms"):
        return {"gate_s" if name == "ms" else "gate_gpu_s": float(value) / 1e3}
    if name == "prompt":
        return {"prompt": RetryPrompt(value)}
    if name == "give-up":
        return {"give_up": GiveUp(value)}
    return {{"draws": "max_draws", "best-of": "parallel_draws", "error-tokens": "error_tokens"}[name]: int(value)}
