"""Speed of each acceptance model on one core: seconds for the rounds, and for their expectation, of made outputs.

Run by hand: python -m benchmarks.bench_acceptance [tokens]

Outputs have 400 tokens in spans of reasoning, prose and schema. Drafters run on token ids that repeat earlier
stretches, after contexts of 2,000 tokens. Seconds of user CPU time; numba, where it is installed, compiles beforehand.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator

import numpy as np

from simulator.acceptance.base import I64, AcceptanceModel, Outputs
from simulator.acceptance.context import ContextDecay
from simulator.acceptance.correlated import PersistentAcceptance, SpreadAcceptance
from simulator.acceptance.expectation import Expectation, expectation
from simulator.acceptance.grammar import Constraint, GrammarAcceptance, GrammarMode
from simulator.acceptance.ngram import ngram_potential
from simulator.acceptance.recorded import Attempts, from_recorded_rounds
from simulator.acceptance.rounds import chain_rounds
from simulator.acceptance.suffix import SuffixDecoding
from simulator.acceptance.table import from_acceptance_length, from_conditional, from_eps
from simulator.acceptance.tokens import RecordedTokens
from simulator.policies import ConfidenceStop, GammaByLabel, PolicyAcceptance
from tokenclass.classes import SubClass

GAMMA = 8
OUTPUT_TOKENS = 400
CONTEXT_TOKENS = 2_000
EPS = (0.02, 0.1, 0.05, 0.3, 0.5, 0.03, 0.35, 0.45)
PER_DEPTH = (0.75, 0.7, 0.66, 0.6, 0.55, 0.5, 0.45, 0.4)
SPANS = ((SubClass.R, 150), (SubClass.F, 100), (SubClass.D, 2), (SubClass.N, 3), (SubClass.K, 10), (SubClass.T, 135))


def made_outputs(tokens: int) -> Outputs:
    """About *tokens* output tokens of equal outputs."""
    one = np.concatenate([np.full(length, label, dtype=np.uint8) for label, length in SPANS])
    count = max(1, tokens // OUTPUT_TOKENS)
    offsets = np.arange(count + 1, dtype=np.int64) * OUTPUT_TOKENS
    keys = np.random.default_rng(0).integers(0, 2**63, count, dtype=np.uint64)
    return Outputs(np.tile(one, count), offsets, keys, np.full(count, CONTEXT_TOKENS, dtype=np.int64))


def models(outputs: Outputs) -> Iterator[tuple[str, AcceptanceModel]]:
    """Each model by name."""
    table, by_depth = from_eps(EPS), from_conditional(PER_DEPTH)
    attempts = Attempts(outputs.keys, outputs.offsets)
    forced = np.isin(outputs.labels, [SubClass.D, SubClass.N, SubClass.K])
    yield "independent, by sub-class", table
    yield "by depth", by_depth
    yield "mean length only", from_acceptance_length(2.5, GAMMA)
    yield "spans with their own draw (beta)", SpreadAcceptance(table, 0.2)
    yield "lag-1 autocorrelation (two states)", PersistentAcceptance(table, 0.4)
    yield "context decay", ContextDecay(table, (1_000.0, 8_000.0), (1.0, 0.7))
    for mode in (GrammarMode.ACCEPT, GrammarMode.JUMP, GrammarMode.NO_DRAFT):
        yield f"grammar {mode.value}", GrammarAcceptance(table, Constraint(mode, attempts, forced))
    yield "depth by class", PolicyAcceptance(table, GammaByLabel((8, 8, 8, 4, 4, 8, 2, 0)))
    yield "confidence threshold", PolicyAcceptance(table, ConfidenceStop(table, 0.3))
    rounds = chain_rounds(by_depth.potential(outputs, GAMMA), outputs.offsets)
    drafted: I64 = rounds.drafted
    yield "recorded rounds", from_recorded_rounds(attempts, rounds.accepted, drafted, rounds.offsets)


def made_ids(tokens: int) -> RecordedTokens:
    """Token ids of which stretches of 20 come again."""
    rng = np.random.default_rng(1)
    stretches = rng.integers(0, 50_000, (2_000, 20)).astype(np.int32)
    count = max(1, tokens // OUTPUT_TOKENS)
    contexts = [stretches[rng.integers(0, 2_000, CONTEXT_TOKENS // 20)].ravel() for _ in range(count)]
    answers = []
    for context in contexts:
        fresh = rng.integers(0, 50_000, OUTPUT_TOKENS // 2).astype(np.int32)
        start = int(rng.integers(0, CONTEXT_TOKENS - OUTPUT_TOKENS // 2))
        answers.append(np.concatenate([fresh, context[start : start + OUTPUT_TOKENS // 2]]))
    return RecordedTokens.of(contexts, answers)


def timed(work: Callable[[], object]) -> float:
    """User CPU seconds of *work*."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before


def main() -> None:
    """Time all models and drafters."""
    tokens = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    outputs = made_outputs(tokens)
    print(f"{len(outputs.labels):,} output tokens, gamma {GAMMA}")
    print(f"{'model':38}{'rounds s':>10}{'expectation s':>16}  how")
    for name, model in models(outputs):
        sampled = timed(lambda model=model: chain_rounds(model.potential(outputs, GAMMA), outputs.offsets))
        found: list[Expectation] = []
        exact = timed(lambda model=model, found=found: found.append(expectation(model, outputs, GAMMA, replicas=2)))
        print(f"{name:38}{sampled:>10.2f}{exact:>16.2f}  {found[0].method.value}")
    small, ids = made_ids(OUTPUT_TOKENS), made_ids(tokens)
    drafters: dict[str, Callable[[RecordedTokens], object]] = {
        "n-gram 5": lambda recorded: ngram_potential(recorded, GAMMA),
        "n-gram 2 to 5": lambda recorded: ngram_potential(recorded, GAMMA, prompt_lookup_min=2),
        "suffix, own request": lambda recorded: SuffixDecoding(max_cached_requests=0).potential(recorded, GAMMA),
        "suffix, 10,000 requests": lambda recorded: SuffixDecoding().potential(recorded, GAMMA),
    }
    print(f"{'drafter':38}{'s':>10}{'us a token':>16}")
    for name, run in drafters.items():
        run(small)
        seconds = timed(lambda run=run: run(ids))
        print(f"{name:38}{seconds:>10.2f}{seconds / (len(ids.output_index)) * 1e6:>16.2f}")


if __name__ == "__main__":
    main()
