"""The main question: replay a recording, with and without speculation, and answer what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import cast

import numpy as np

from scenarios.acceptance.choice import choose_acceptance, is_measured
from scenarios.acceptance.expected import AcceptanceChoice
from scenarios.acceptance.grammar import needs_forced
from scenarios.acceptance.policy import engine_under
from scenarios.agents.quality import budget_of
from scenarios.answer import SCHEMA_VERSION, Answer, TraceInfo
from scenarios.decide import Decision, decide, replay_once
from scenarios.law.limits import limits, stay_off
from scenarios.options.parameters import ParameterBook
from scenarios.options.read import ReadOptions
from scenarios.options.replay import OptionError, ReplayOptions
from scenarios.recordings.loaded import Loaded, Reading, load
from scenarios.recordings.recording import Look, Progress, Recording
from scenarios.resolve.clusters import with_cluster
from scenarios.resolve.draws import drawn_workload, draws_again
from scenarios.resolve.load import resolve_load
from scenarios.resolve.measure import Measure, resolve_measure
from scenarios.resolve.platform import Platform, resolve_platform
from scenarios.runs.runsummary import RunSummary, summarise
from scenarios.runs.vllmcompat import bench_serve
from simulator.config import MODELLED_ENGINE
from simulator.replay import Replay, Watch
from simulator.workload import Workload

_LARGE_BATCH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An answer with the replays behind it."""

    answer: Answer
    workload: Workload
    platform: Platform
    choice: AcceptanceChoice
    measure: Measure
    replay: Replay
    baseline: Replay | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Options resolved as far as they can be without the recording."""

    options: ReplayOptions
    platform: Platform
    measure: Measure
    reading: Reading
    book: ParameterBook


def ask(
    paths: Sequence[str],
    read: ReadOptions,
    options: ReplayOptions,
    *,
    progress: Progress | None = None,
    look: Look | None = None,
    watch: Watch | None = None,
) -> Asked:
    """Replay the recordings at *paths* as *options* say and judge the result.

    *look* sees their text as it is read, *watch* is told how far the replays are.

    Raises OptionError for options out of range, TraceError or SimtoolError for recordings that cannot be used.
    """
    asked = question(read, options)
    return answer(asked, load(paths, asked.reading, progress=progress, look=look), watch)


def question(read: ReadOptions, options: ReplayOptions) -> Question:
    """Resolve *options*, and what they need read. Raises OptionError for those out of range."""
    book = ParameterBook()
    try:
        platform = with_cluster(resolve_platform(options.platform, options.cost, book), options.cluster, book)
        budget_of(options)
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from error
    platform = replace(platform, engine=engine_under(platform.engine, options.policy))
    reading = Reading(
        read=read,
        block_size=platform.engine.block_size,
        every_prompt_twice=draws_again(options),
        keep_ids=is_measured(platform.engine, options.acceptance),
        keep_forced=needs_forced(options.policy),
    )
    measure = resolve_measure(options.measure)
    return Question(options=options, platform=platform, measure=measure, reading=reading, book=book)


def answer(asked: Question, loaded: Loaded, watch: Watch | None = None) -> Asked:
    """Answer a question, once, from what was loaded for its reading; *watch* is told how far the replays are.

    Raises OptionError for options out of range.
    """
    options, platform, measure, book = asked.options, asked.platform, asked.measure, asked.book
    recording = loaded.own_recording()
    workload = drawn_workload(loaded.workload, options, book)
    load_config = resolve_load(options.load, workload, book, num_replicas=platform.cluster.num_replicas)
    gamma = platform.engine.num_speculative_tokens
    choice = choose_acceptance(loaded.workload, workload, platform.engine, options, recording, book)
    baseline = None
    if gamma == 0:
        replay = replay_once(workload, platform.engine, platform, choice, load_config, options.seed, watch)
        summary = summarise(replay, workload, platform, measure)
        compat = bench_serve(replay, workload, summary, measure)
        document = _answer(recording, workload, options, book, summary, vllm_compat=compat)
    else:
        measured = recording.measured_tokens_per_round
        decision = decide(workload, platform, choice, load_config, options.seed, measured, measure, watch)
        replay, baseline = decision.speculative, decision.baseline
        document = _answer(
            recording,
            workload,
            options,
            book,
            decision.summary,
            **_parts(decision),
            vllm_compat=bench_serve(replay, workload, decision.summary, measure),
            stay_off=stay_off(limits(baseline, platform, options.platform, choice, gamma)),
        )
    return Asked(
        answer=document,
        workload=workload,
        platform=platform,
        choice=choice,
        measure=measure,
        replay=replay,
        baseline=baseline,
    )


def _parts(decision: Decision) -> dict[str, object]:
    return {
        "baseline": decision.baseline_summary,
        "verdict": decision.verdict,
        "comparison": decision.comparison,
        "classes": decision.classes,
        "gamma_curve": decision.curve,
        "break_even": decision.break_even,
        "predictions": decision.predictions,
    }


def _answer(
    recording: Recording,
    workload: Workload,
    options: ReplayOptions,
    book: ParameterBook,
    summary: RunSummary,
    **decision: object,
) -> Answer:
    parts: dict[str, object] = {
        "baseline": None,
        "verdict": None,
        "comparison": [],
        "classes": [],
        "gamma_curve": [],
        "break_even": None,
        "predictions": [],
        "stay_off": [],
        **decision,
    }
    stays_off = cast("list[str]", parts.pop("stay_off"))
    return Answer(
        schema_version=SCHEMA_VERSION,
        tool="simtool",
        version=version("simtool"),
        modelled_engine=MODELLED_ENGINE,
        seed=options.seed,
        trace=_trace_info(recording, workload),
        replay=summary,
        quality=budget_of(options),
        config=book.entries,
        assumptions=recording.notes(),
        omissions=dict(recording.log.omitted),
        duplicates=dict(recording.log.duplicates),
        warnings=[*_warnings(summary), *stays_off],
        **parts,  # type: ignore[arg-type]
    )


def _trace_info(recording: Recording, workload: Workload) -> TraceInfo:
    prompts = workload.attempt_prompt_tokens
    return TraceInfo(
        sha256=recording.sha256,
        files=len(recording.files),
        sessions=workload.n_sessions,
        turns=workload.n_turns,
        attempts=workload.n_attempts,
        prompt_tokens=int(prompts.sum()),
        output_tokens=int(np.sum(workload.output_tokens)),
        straddling_tokens=recording.straddling_tokens,
        hidden_reasoning_tokens=recording.hidden_reasoning_tokens,
    )


def _warnings(summary: RunSummary) -> list[str]:
    found = []
    refused = summary.conservation["requests_refused"]
    truncated = summary.conservation["requests_truncated"]
    abandoned = summary.conservation.get("requests_abandoned", 0)
    if abandoned:
        found.append(f"{abandoned} requests were not sent: the gate gave up on a turn and ended the session")
    if refused:
        found.append(f"{refused} requests were refused: their prompts do not fit into --max-model-len")
    if truncated:
        found.append(f"{truncated} outputs were cut at --max-model-len")
    if summary.num_preemptions:
        found.append(
            f"{summary.num_preemptions} preemptions: the KV cache is too small for this load; "
            "lower --max-concurrency or --max-num-seqs, or give more memory"
        )
    if summary.prefix_cache_hit_rate_tokens == 0:
        found.append("the prefix cache was never hit")
    if summary.max_num_requests_running > _LARGE_BATCH * 4 * summary.num_replicas:
        found.append(
            f"up to {summary.max_num_requests_running} sequences ran at once: the law is declared for small, "
            "memory-bound batches"
        )
    return found
