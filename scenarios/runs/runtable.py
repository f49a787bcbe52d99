"""Tables of a replay for Parquet and pandas: attempts with seconds, tokens and dollars; load over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.resolve.platform import Platform
from scenarios.runs.runsummary import usd_per_s
from simulator.cachesaving import cache_saved_s
from simulator.metrics import attempt_latencies, paid_s
from simulator.replay import Replay
from simulator.window import Cut, window
from simulator.workload import Workload
from tokenclass.classes import PositionClass
from traces.atomic import whole_file

TABLE_VERSION = "1"
NO_CUT = Cut()


def run_table(replay: Replay, workload: Workload, platform: Platform, cut: Cut = NO_CUT) -> pa.Table:
    """One row an attempt, in the workload's order; null where a figure is undefined. *cut* is not measured."""
    turn = workload.attempt_turn
    session = workload.turn_session[turn]
    step = replay.by_step
    total_s = paid_s(replay, workload)
    columns: dict[str, object] = {
        "session_id": np.array(workload.session_ids, dtype=object)[session],
        "turn_id": np.array(workload.turn_ids, dtype=object)[turn],
        "attempt": np.arange(turn.size) - workload.turn_attempts[turn],
        "attempts": np.diff(workload.turn_attempts)[turn],
        "accepted": ~workload.attempt_rejected & replay.done,
        "refused": replay.refused,
        "truncated": replay.truncated,
        "measured": window(replay, workload, cut).attempts,
        "arrival_s": replay.arrival_s,
        "scheduled_s": replay.scheduled_s,
        "first_token_s": replay.first_token_s,
        "finish_s": replay.finish_s,
        **attempt_latencies(replay),
        "prompt_tokens": replay.prompt_tokens,
        "cached_tokens": replay.hit_tokens,
        "host_cached_tokens": replay.host_hit_tokens,
        "output_tokens": replay.output_tokens,
        "num_preemptions": replay.num_preemptions,
        "replica": replay.replica,
        "decode_replica": replay.decode_replica,
        "kv_transfer_s": replay.kv_transfer_s,
        "rounds": step.rounds,
        "num_drafts": step.drafts,
        "num_draft_tokens": step.draft_tokens,
        "num_accepted_tokens": step.accepted_tokens,
    }
    for name in PositionClass:
        columns[f"drafted_{name.name}_tokens"] = step.drafted_by_class[:, name]
        columns[f"accepted_{name.name}_tokens"] = step.accepted_by_class[:, name]
        columns[f"decode_gpu_{name.name}_s"] = step.decode_gpu_s_by_class[:, name]
    columns |= {
        "prefill_gpu_s": replay.prefill_gpu_s,
        "draft_prefill_gpu_s": replay.draft_prefill_gpu_s,
        "kv_load_s": replay.kv_load_s,
        "cache_saved_s": cache_saved_s(replay),
        "decode_gpu_s": step.decode_gpu_s,
        "gpu_s": total_s,
        "cost_usd": total_s * usd_per_s(replay, platform),
    }
    arrays = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}
    return pa.table(arrays).replace_schema_metadata({"simtool_run_table": TABLE_VERSION})


def write_run_table(table: pa.Table, path: Path) -> None:
    """Write *table* as Parquet, whole or not at all; equal tables give equal bytes."""
    with whole_file(path) as partial:
        pq.write_table(table, partial, compression="zstd")


def load_table(replay: Replay) -> pa.Table:
    """Load over time, replica by replica: a row whenever a batch may have changed, with vLLM's gauge names."""
    blocks = replay.config.engine.num_gpu_blocks
    parts = []
    for index, log in enumerate(replay.replicas):
        load = log.load
        columns = {
            "replica": np.full(load["time_s"].size, index, dtype=np.int32),
            "time_s": load["time_s"],
            "num_requests_running": load["num_requests_running"].astype(np.int32),
            "num_requests_waiting": load["num_requests_waiting"].astype(np.int32),
            "kv_cache_usage_perc": load["used_blocks"] / blocks,
        }
        parts.append(pa.table({name: pa.array(values) for name, values in columns.items()}))
    return pa.concat_tables(parts).combine_chunks()
