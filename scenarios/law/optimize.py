"""Which draft depth saves most on a recording: one for all, one per class, one per batch size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from scenarios.acceptance.expected import AcceptanceChoice, expectation
from scenarios.answer import Interval
from scenarios.decide import replay_once
from scenarios.law.batchcost import step_cost_per_token
from scenarios.law.curve import SUFFIX_GAMMAS, Predictor, net_saving, thinned_outputs
from scenarios.options.replay import OptionError
from scenarios.runs.inturn import InTurn
from scenarios.setup import Setup
from scenarios.verdict import net_interval
from simulator.metrics import mean_batch
from simulator.policies import DraftPolicy, GammaByBatchSize, GammaByLabel
from simulator.replay import Replay, Watch
from tokenclass.classes import CLASS_OF_SUBCLASS, PositionClass

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SEARCH_TOKENS = 30_000
"""Output tokens that depths by class are searched on; a larger trace is thinned evenly by outputs."""
CLASS_GAMMAS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
ROUNDS_OF_SEARCH = 2
EXPECTED = (
    "expected: at the batch without speculation ({:.2f} sequences in a decode step), the draft's prefill left out; "
    "replayed: everything counts"
)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One setting with its net saving of C_total, expected and replayed."""

    name: str
    option: str
    """As `simtool replay` takes it."""
    expected_net_saving: float | None
    """None where expectation over the outputs cannot say: depths that change with the batch."""
    replayed: Interval
    """Paired with the replay without speculation; 95 % over sessions."""


class BatchPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The best fixed depth with this many sequences decoding together."""

    batch_size: int
    gamma: int
    tokens_per_round: float
    decode_saving: float


class Optimum(msgspec.Struct, frozen=True, kw_only=True):
    """The best settings found."""

    advice: str
    candidates: list[Candidate]
    by_batch_size: list[BatchPoint]
    notes: list[str]


def optimize(setup: Setup, watch: Watch | None = None) -> Optimum:
    """The best fixed depth, depth by class and depth by batch size up to the setup's gamma, each replayed.

    *watch* is told how far the replays are.
    """
    if setup.choice.tree_depth is not None:
        raise OptionError("--draft-tree: a tree is drafted whole; simtool law --tree names its best size")
    depths = [g for g in range(1, setup.gamma + 1) if setup.choice.depths is None or g in setup.choice.depths]
    outputs, owner = thinned_outputs(setup.workload, setup.baseline, SEARCH_TOKENS)
    predict = Predictor(
        outputs=outputs,
        owner=owner,
        platform=setup.platform,
        choice=setup.choice,
        batch=mean_batch(setup.baseline),
        net=lambda cost: net_saving(
            setup.workload, setup.baseline, setup.baseline, cost, setup.platform.relative_price
        ),
    )
    fixed = max(depths, key=lambda gamma: _saving(predict, gamma, None))
    by_class = _by_class(predict, fixed, depths)
    by_size = [_at_size(setup, predict, size, depths) for size in BATCH_SIZES]
    replays = InTurn(watch, 3)
    candidates = [
        _candidate(setup, replays, f"gamma {fixed}, fixed", str(fixed), fixed, None, _saving(predict, fixed, None)),
        _class_candidate(setup, replays, predict, by_class),
        _size_candidate(setup, replays, by_size),
    ]
    best = max(candidates, key=lambda one: one.replayed.value)
    pays = best.replayed.low > 0
    return Optimum(
        advice=(
            f"Best: --gamma {best.option}, net saving {best.replayed.value:+.1%}"
            if pays
            else "No depth saves anything for certain on this traffic: leave speculation off, or record more of it"
        ),
        candidates=candidates,
        by_batch_size=by_size,
        notes=[
            EXPECTED.format(predict.batch[0]),
            "a step drafts as deep as the deepest of its sequences: in batches, depths by class gain less or lose",
        ],
    )


def _saving(predict: Predictor, gamma: int, policy: DraftPolicy | None) -> float:
    """Net saving expected of *gamma* under *policy*."""
    return predict.net(step_cost_per_token(predict, gamma, policy))


def _by_class(predict: Predictor, fixed: int, depths: Sequence[int]) -> dict[PositionClass, int]:
    """Depth by class, found by trying the depths of one class after the other from *fixed* for all on."""
    tried = sorted({0, fixed, *(gamma for gamma in CLASS_GAMMAS if gamma in depths)})
    found = dict.fromkeys(PositionClass, fixed)
    for _ in range(ROUNDS_OF_SEARCH):
        before = dict(found)
        for one in PositionClass:
            found[one] = max(tried, key=_with(predict, found, one))
        if found == before:
            break
    return found


def _with(predict: Predictor, found: dict[PositionClass, int], one: PositionClass) -> Callable[[int], float]:
    def saving(gamma: int) -> float:
        depths = found | {one: gamma}
        deepest = max(depths.values())
        return _saving(predict, deepest, _policy(depths)) if deepest else 0.0

    return saving


def _policy(depths: dict[PositionClass, int]) -> GammaByLabel:
    return GammaByLabel(tuple(depths[one] for one in CLASS_OF_SUBCLASS))


def _at_size(setup: Setup, predict: Predictor, size: int, depths: Sequence[int]) -> BatchPoint:
    """The best fixed depth at *size* sequences; 0 where none pays."""
    best = BatchPoint(batch_size=size, gamma=0, tokens_per_round=1.0, decode_saving=0.0)
    for gamma in depths:
        if gamma not in SUFFIX_GAMMAS and gamma != max(depths):
            continue
        found = expectation(setup.choice.predicted, predict.outputs, gamma)
        saving = 1 - found.cost_per_token(setup.costs(gamma, float(size)))
        if saving > best.decode_saving:
            best = BatchPoint(
                batch_size=size, gamma=gamma, tokens_per_round=found.tokens_per_round, decode_saving=saving
            )
    return best


def _class_candidate(setup: Setup, replays: InTurn, predict: Predictor, depths: dict[PositionClass, int]) -> Candidate:
    option = ",".join(f"{one.name}={depths[one]}" for one in PositionClass)
    deepest = max(depths.values())
    policy = _policy(depths)
    expected = _saving(predict, deepest, policy) if deepest else 0.0
    return _candidate(setup, replays, "by class", option, deepest, policy, expected)


def _size_candidate(setup: Setup, replays: InTurn, points: Sequence[BatchPoint]) -> Candidate:
    rows = []
    for at, point in enumerate(points):
        last = points[at + 1].batch_size - 1 if at + 1 < len(points) else 2**31 - 1
        rows.append((point.batch_size, last, point.gamma))
    merged: list[tuple[int, int, int]] = []
    for low, high, gamma in rows:
        if merged and merged[-1][2] == gamma:
            merged[-1] = (merged[-1][0], high, gamma)
        else:
            merged.append((low, high, gamma))
    deepest = max(gamma for *_, gamma in merged)
    shown = ",".join(f"{low}-{'' if high >= 2**31 - 1 else high}:{gamma}" for low, high, gamma in merged)
    sizes = GammaByBatchSize(tuple(merged))
    return _candidate(
        setup, replays, "by batch size", f"{deepest} --gamma-by-batch-size {shown}", deepest, None, None, by_size=sizes
    )


def _candidate(
    setup: Setup,
    replays: InTurn,
    name: str,
    option: str,
    gamma: int,
    policy: DraftPolicy | None,
    expected: float | None,
    *,
    by_size: GammaByBatchSize | None = None,
) -> Candidate:
    interval, watch = Interval(0.0, 0.0, 0.0), replays.next()
    if gamma:
        choice: AcceptanceChoice = replace(setup.choice, policy=policy)
        engine = replace(
            setup.platform.engine,
            num_speculative_tokens=gamma,
            num_speculative_tokens_per_batch_size=by_size,
            draft_depth_varies=policy is not None or setup.choice.constraint is not None,
        )
        replay: Replay = replay_once(setup.workload, engine, setup.platform, choice, setup.load, setup.seed, watch)
        interval = net_interval(setup.workload, replay, setup.baseline, setup.seed, setup.platform.relative_price)
    return Candidate(name=name, option=option, expected_net_saving=expected, replayed=interval)
