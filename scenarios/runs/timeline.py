"""The timeline of a replay in Chrome's trace event format, for ui.perfetto.dev: replicas and sessions as tracks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from scenarios.ask import Asked
from simulator.replay import Replay
from simulator.replicalog import ReplicaLog
from simulator.workload import NO_PARENT, Workload
from traces.atomic import whole_file

MAX_EVENTS = 200_000
"""Slices that a timeline holds unless asked otherwise: about 30 MB, which the viewer opens in seconds."""

Event = dict[str, Any]
_REPLICAS, _SESSIONS = 1, 2
_US = 1e6


def timeline(replay: Replay, workload: Workload, max_events: int = MAX_EVENTS) -> dict[str, Any]:
    """A document with the slices of all tracks in order of time, cut after the first *max_events*.

    Replicas have slices of prefill, decode and mixed steps, runs of decoding merged; sessions have those of queue,
    prefill, decode and tool wait. Times are microseconds. Raises ValueError for *max_events* below 1.
    """
    if max_events < 1:
        raise ValueError(f"--timeline-events is {max_events}; it must be at least 1")
    lanes, session_slices = _session_slices(replay, workload)
    slices = list(session_slices)
    for index, log in enumerate(replay.replicas):
        slices += _replica_slices(index, log)
    slices.sort(key=lambda event: (event["ts"], event["pid"], event["tid"], -event["dur"]))
    kept = slices[:max_events]
    return {
        "displayTimeUnit": "ms",
        "otherData": {
            "slices": len(kept),
            "slices_cut": len(slices) - len(kept),
            "cut_at_s": slices[max_events]["ts"] / _US if len(slices) > max_events else None,
        },
        "traceEvents": [*_names(replay, workload, lanes, kept), *kept],
    }


def write_timeline(asked: Asked, path: Path, max_events: int = MAX_EVENTS) -> None:
    """Write the timeline of the replay of *asked* as JSON, whole or not at all."""
    document = timeline(asked.replay, asked.workload, max_events)
    with whole_file(path) as partial:
        partial.write_bytes(orjson.dumps(document))


def _slice(pid: int, tid: int, name: str, span_s: tuple[float, float], args: Event) -> Event:
    start_us, end_us = round(span_s[0] * _US, 3), round(span_s[1] * _US, 3)
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "name": name,
        "cat": "replica" if pid == _REPLICAS else "session",
        "ts": start_us,
        "dur": round(end_us - start_us, 3),
        "args": args,
    }


def _replica_slices(index: int, log: ReplicaLog) -> Iterator[Event]:
    """Steps of one replica; decoding runs that follow each other without a pause are one slice."""
    columns = [log.work[name].tolist() for name in ("start_s", "end_s", "n_steps", "decoding_seqs", "prefill_tokens")]
    open_run: list[float] | None = None
    for start_s, end_s, steps, decoding, prefilled in zip(*columns, strict=True):
        if not prefilled and open_run is not None and open_run[1] == start_s:
            open_run = [open_run[0], end_s, open_run[2] + steps, max(open_run[3], decoding)]
            continue
        if open_run is not None:
            yield _decode_slice(index, open_run)
            open_run = None
        if prefilled:
            args = {"prefill_tokens": int(prefilled), "decoding_seqs": int(decoding)}
            yield _slice(_REPLICAS, index, "mixed" if decoding else "prefill", (start_s, end_s), args)
        else:
            open_run = [start_s, end_s, steps, decoding]
    if open_run is not None:
        yield _decode_slice(index, open_run)


def _decode_slice(index: int, run: list[float]) -> Event:
    args = {"steps": int(run[2]), "max_decoding_seqs": int(run[3])}
    return _slice(_REPLICAS, index, "decode", (run[0], run[1]), args)


def _session_slices(replay: Replay, workload: Workload) -> tuple[list[tuple[int, int]], list[Event]]:
    """Tracks as (session, number within it), and all their slices; turns that overlap go to tracks of their own."""
    first = workload.turn_attempts[:-1]
    over_s = np.maximum.reduceat(replay.finish_s, first) if first.size else np.empty(0)
    lanes: list[tuple[int, int]] = []
    events: list[Event] = []
    for session in range(workload.n_sessions):
        turns = range(int(workload.session_turns[session]), int(workload.session_turns[session + 1]))
        free_s: list[float] = []
        base = len(lanes)
        for turn in sorted(turns, key=lambda t: (float(replay.arrival_s[first[t]]), t)):
            parent = int(workload.turn_parent[turn])
            sent_s = float(replay.arrival_s[first[turn]])
            begin_s = float(over_s[parent]) if parent != NO_PARENT else sent_s
            number = next((n for n, time_s in enumerate(free_s) if time_s <= begin_s), len(free_s))
            if number == len(free_s):
                free_s.append(0.0)
                lanes.append((session, number))
            free_s[number] = float(over_s[turn])
            if begin_s < sent_s:
                args = {"before_turn": workload.turn_ids[turn]}
                events.append(_slice(_SESSIONS, base + number, "tool wait", (begin_s, sent_s), args))
            events += _turn_slices(replay, workload, turn, base + number)
    return lanes, events


def _turn_slices(replay: Replay, workload: Workload, turn: int, tid: int) -> Iterator[Event]:
    """Queue, prefill and decode of each attempt of *turn*."""
    start = int(workload.turn_attempts[turn])
    for attempt in range(start, int(workload.turn_attempts[turn + 1])):
        if replay.refused[attempt]:
            continue
        marks = [
            float(column[attempt])
            for column in (replay.arrival_s, replay.scheduled_s, replay.first_token_s, replay.finish_s)
        ]
        args = {
            "turn": workload.turn_ids[turn],
            "attempt": attempt - start,
            "replica": int(replay.decode_replica[attempt]),
            "prompt_tokens": int(replay.prompt_tokens[attempt]),
            "cached_tokens": int(replay.hit_tokens[attempt]),
            "output_tokens": int(replay.output_tokens[attempt]),
        }
        for name, begin_s, end_s in zip(("queue", "prefill", "decode"), marks[:-1], marks[1:], strict=True):
            if begin_s < end_s:
                yield _slice(_SESSIONS, tid, name, (begin_s, end_s), args)


def _names(replay: Replay, workload: Workload, lanes: list[tuple[int, int]], kept: Iterable[Event]) -> Iterator[Event]:
    """Names of the processes and of the tracks that have slices."""
    for pid, name in ((_REPLICAS, "replicas"), (_SESSIONS, "sessions")):
        yield {"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": name}}
    prefill = replay.config.cluster.num_prefill_replicas
    for pid, tid in sorted({(event["pid"], event["tid"]) for event in kept}):
        if pid == _REPLICAS:
            pool = "" if not prefill else " (prefill)" if tid < prefill else " (decode)"
            name = f"replica {tid}{pool}"
        else:
            session, number = lanes[tid]
            name = workload.session_ids[session] + (f" ({number + 1})" if number else "")
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}
