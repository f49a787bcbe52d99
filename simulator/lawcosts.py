"""The law's cost constants read back from any cost model, at one batch size and context."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.cost import CostModel


@dataclass(frozen=True, slots=True, kw_only=True)
class LawCosts:
    """What a round costs in the law's terms: c_T (1 + o + gamma (delta + d))."""

    c_T_s: float
    delta: float
    d: float
    o: float
    n_seqs: float
    """Decoding sequences in the step that was read."""
    context_tokens: float
    """Context of each of them."""

    def round_cost(self, gamma: int) -> float:
        """Cost of a round of *gamma* drafts relative to c_T; 1 at gamma 0."""
        return 1.0 + (self.o + gamma * (self.delta + self.d) if gamma else 0.0)

    def spread(self, gamma: int, depth: int) -> LawCosts:
        """Constants by which a round of *depth* drafts costs what one of *gamma* costs here: a tree read as a chain."""
        if depth == gamma or not depth:
            return self
        return replace(self, delta=self.delta * gamma / depth, d=self.d * gamma / depth)


def read_back(cost: CostModel, *, n_seqs: float, context_tokens: float, gamma: int) -> LawCosts:
    """The law's constants of *cost* for *n_seqs* sequences of *context_tokens* tokens each, exact at *gamma* > 0.

    Formula, with T(v, p) the step time for v drafts a sequence and p draft passes, and v' = 1 (2 at gamma 1):
    delta = (T(gamma, 0) - T(v', 0)) / ((gamma - v') c_T), o = T(gamma, 0) / c_T - 1 - gamma delta,
    d = (T(gamma, gamma) - T(gamma, 0)) / (gamma c_T). Where verification costs less per token the more there are
    (experts are read once), delta is its mean between v' and gamma. A round trip to a remote draft counts in d.
    """
    if gamma < 1:
        raise ValueError(f"gamma is {gamma}; constants of speculation need at least 1")
    context = n_seqs * context_tokens

    def step_s(drafts: int, passes: int) -> float:
        return float(cost.decode_s(n_seqs, n_seqs * drafts, context, float(passes)))

    c_T = step_s(0, 0)
    once = step_s(gamma, 0)
    other = 1 if gamma > 1 else 2
    delta = (once - step_s(other, 0)) / ((gamma - other) * c_T)
    return LawCosts(
        c_T_s=c_T,
        delta=delta,
        d=(step_s(gamma, gamma) - once) / (gamma * c_T),
        o=once / c_T - 1.0 - gamma * delta,
        n_seqs=n_seqs,
        context_tokens=context_tokens,
    )
