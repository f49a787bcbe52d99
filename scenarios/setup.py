"""What questions about draft depths start from: workload, platform, acceptance, a replay without speculation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scenarios.acceptance.choice import choose_acceptance, is_measured
from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.acceptance.grammar import needs_forced
from scenarios.decide import replay_without
from scenarios.options.parameters import ParameterBook
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError, ReplayOptions
from scenarios.recordings.recording import Progress, Recording, load_workload, open_recording
from scenarios.resolve.clusters import with_cluster
from scenarios.resolve.draws import drawn_workload, draws_again
from scenarios.resolve.load import resolve_load
from scenarios.resolve.platform import Platform, resolve_platform
from simulator.lawcosts import LawCosts, read_back
from simulator.metrics import mean_batch
from simulator.replay import Replay, Watch
from simulator.sessions import LoadConfig
from simulator.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A recording ready to be asked about, with its replay without speculation."""

    recording: Recording
    workload: Workload
    platform: Platform
    choice: AcceptanceChoice
    load: LoadConfig
    baseline: Replay
    book: ParameterBook
    seed: int

    @property
    def gamma(self) -> int:
        """The engine's draft depth."""
        return self.platform.engine.num_speculative_tokens

    @property
    def recorded_tokens_per_round(self) -> float | None:
        """What the recording reports of its own rounds."""
        return self.recording.measured_tokens_per_round

    def costs(self, gamma: int, n_seqs: float | None = None) -> LawCosts:
        """The law's constants at *gamma*, at the batch and context of the replay without speculation or *n_seqs*."""
        batch, context = mean_batch(self.baseline)
        at = batch if n_seqs is None else n_seqs
        return read_back(self.platform.cost, n_seqs=at, context_tokens=context, gamma=gamma)


def set_up(
    paths: Sequence[str],
    read: ReadOptions,
    options: ReplayOptions,
    *,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Setup:
    """Read the recordings at *paths* and replay them without speculation; *watch* is told how far the replay is.

    Raises OptionError for options out of range and gamma 0, TraceError or SimtoolError for unusable recordings.
    """
    book = ParameterBook()
    try:
        platform = with_cluster(resolve_platform(options.platform, options.cost, book), options.cluster, book)
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from error
    if not platform.engine.num_speculative_tokens:
        raise OptionError("--gamma is 0; it must be at least 1 here: there is nothing to compare without drafts")
    recording = open_recording(paths, read, progress)
    recorded = load_workload(
        recording,
        read,
        block_size=platform.engine.block_size,
        every_prompt_twice=draws_again(options),
        keep_ids=is_measured(platform.engine, options.acceptance),
        keep_forced=needs_forced(options.policy),
        progress=progress,
    )
    workload = drawn_workload(recorded, options, book)
    load = resolve_load(options.load, workload, book, num_replicas=platform.cluster.num_replicas)
    choice = choose_acceptance(recorded, workload, platform.engine, options, recording, book)
    baseline = replay_without(workload, platform, choice, load, options.seed, watch)
    return Setup(
        recording=recording,
        workload=workload,
        platform=platform,
        choice=choice,
        load=load,
        baseline=baseline,
        book=book,
        seed=options.seed,
    )
