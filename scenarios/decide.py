"""The decision: paired sampled replays of one workload, law and exact expectation beside them, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.acceptance.expected import AcceptanceChoice, expectation, replayed_outputs, under
from scenarios.answer import BreakEven, ClassRow, ComparisonRow, GammaPoint, PredictionRow, Verdict
from scenarios.law.compare import Predicted, break_even, class_rows, comparison, rulings
from scenarios.law.curve import gamma_curve
from scenarios.options.replay import OptionError
from scenarios.resolve.measure import Measure
from scenarios.resolve.platform import Platform
from scenarios.runs.inturn import InTurn
from scenarios.runs.runsummary import DEFAULT_MEASURE, RunSummary, summarise
from scenarios.verdict import judge
from simulator.config import EngineConfig
from simulator.lawcosts import read_back
from simulator.longcolumns import let_go_all, released
from simulator.metrics import mean_batch
from simulator.replay import Replay, ReplayConfig, Watch, run
from simulator.sessions import LoadConfig
from simulator.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Both replays of a workload, and what the three predictions say of it."""

    speculative: Replay
    baseline: Replay
    summary: RunSummary
    baseline_summary: RunSummary
    verdict: Verdict
    comparison: list[ComparisonRow]
    classes: list[ClassRow]
    curve: list[GammaPoint]
    break_even: BreakEven
    predictions: list[PredictionRow]


def replay_once(
    workload: Workload,
    engine: EngineConfig,
    platform: Platform,
    choice: AcceptanceChoice,
    load: LoadConfig,
    seed: int,
    watch: Watch | None = None,
) -> Replay:
    """One replay on *engine*, which is the platform's own or its baseline."""
    speculative = engine.num_speculative_tokens > 0
    cost = platform.cost if speculative else platform.baseline_cost
    model = choice.replayed if speculative else None
    cluster = platform.cluster if speculative else platform.baseline_cluster
    config = ReplayConfig(engine=engine, cost=cost, acceptance=model, load=load, cluster=cluster, seed=seed)
    return run(workload, config, watch)


def replay_without(
    workload: Workload,
    platform: Platform,
    choice: AcceptanceChoice,
    load: LoadConfig,
    seed: int,
    watch: Watch | None = None,
) -> Replay:
    """The replay without speculation that savings are shares of. Raises OptionError if nothing can be served."""
    engine = platform.baseline_engine
    baseline = replay_once(workload, engine, platform, choice, load, seed, watch)
    if baseline.refused.all():
        raise OptionError(
            f"--max-model-len is {engine.max_model_len}, given or what the KV cache of "
            f"{platform.engine.num_gpu_blocks} blocks holds beside the models: none of the {workload.n_attempts} "
            "prompts fits; use a larger --gpu, a higher "
            "-tp or a smaller --draft-model"
        )
    return baseline


def decide(
    workload: Workload,
    platform: Platform,
    choice: AcceptanceChoice,
    load: LoadConfig,
    seed: int,
    measured_tokens_per_round: float | None = None,
    measure: Measure = DEFAULT_MEASURE,
    watch: Watch | None = None,
) -> Decision:
    """Replay *workload* with and without speculation on the same seed, and compare with law and expectation.

    *measured_tokens_per_round* is what the recording itself reports, at whatever depth it was made with.
    """
    replays = InTurn(watch, 2)
    baseline = replay_without(workload, platform, choice, load, seed, replays.next())
    speculative = replay_once(workload, platform.engine, platform, choice, load, seed, replays.next())
    gamma = platform.engine.num_speculative_tokens
    outputs = replayed_outputs(speculative)
    batch, context = mean_batch(baseline)
    costs = read_back(platform.cost, n_seqs=batch, context_tokens=context, gamma=gamma)
    predicted = Predicted(
        exact=released(expectation(under(choice.table, choice.policy), outputs, gamma)),
        known=released(expectation(choice.replayed, outputs, gamma)) if choice.measured else None,
    )
    curve = released(gamma_curve(workload, speculative, baseline, platform, choice))
    classes = released(class_rows(outputs, speculative, baseline, predicted, choice, platform, gamma))
    verdict = judge(
        workload,
        speculative,
        baseline,
        curve,
        gamma,
        seed,
        measured=choice.measured,
        tree=choice.tree_depth is not None,
        relative_price=platform.relative_price,
    )
    let_go_all()
    return Decision(
        speculative=speculative,
        baseline=baseline,
        summary=summarise(speculative, workload, platform, measure),
        baseline_summary=summarise(baseline, workload, platform, measure),
        verdict=verdict,
        comparison=released(
            comparison(outputs, speculative, baseline, predicted, costs, choice, gamma, measured_tokens_per_round)
        ),
        classes=classes,
        curve=curve.points,
        break_even=released(break_even(outputs, costs, choice, gamma)),
        predictions=rulings(classes, verdict.net_saving.value),
    )
