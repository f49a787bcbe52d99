"""Small workloads written out token by token, and a source of random ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from simulator import rng
from simulator.acceptance.base import Outputs, Potential
from simulator.config import EngineConfig, SpeculativeMethod
from simulator.cost import CostModel, DeclaredCost, Efficiency, RooflineCost
from simulator.hardware import gpu_named, model_named
from simulator.prefix import BlockPaths
from simulator.replay import ReplayConfig
from simulator.sessions import LoadConfig, SessionMode
from simulator.workload import NO_PARENT, Workload

Tokens = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One turn: its prompt, the output of each attempt, and what its successors wait for."""

    prompt: Tokens
    outputs: tuple[Tokens, ...]
    parent: int | None
    wait_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Session:
    """Turns of one session; *spawned_by* is (session, turn) of the turn that starts it."""

    turns: tuple[Turn, ...]
    start_s: float = 0.0
    spawned_by: tuple[int, int] | None = None


def block_paths(texts: list[Tokens], block_size: int) -> BlockPaths:
    """Leading full blocks of each text that some other text begins with too, numbered as they appear."""
    chains = [[text[:end] for end in range(block_size, len(text) + 1, block_size)] for text in texts]
    uses: dict[Tokens, int] = {}
    for chain in chains:
        for block in chain:
            uses[block] = uses.get(block, 0) + 1
    numbers: dict[Tokens, int] = {}
    paths = []
    for chain in chains:
        shared = [block for block in chain if uses[block] > 1]
        paths.append(np.array([numbers.setdefault(block, len(numbers)) for block in shared], dtype=np.int32))
    return BlockPaths(paths, len(numbers))


def build(sessions: list[Session], block_size: int) -> Workload:
    """The workload of *sessions*, with a label per output token that is its value modulo 8."""
    bounds = np.cumsum([0] + [len(session.turns) for session in sessions])
    turns = [turn for session in sessions for turn in session.turns]
    attempts = [(turn, output) for turn in turns for output in turn.outputs]
    parents = [
        NO_PARENT if turn.parent is None else int(first) + turn.parent
        for session, first in zip(sessions, bounds, strict=False)
        for turn in session.turns
    ]
    spawned = [session.spawned_by for session in sessions]
    sizes = [len(turn.outputs) for turn in turns]
    labels = [token % 8 for _, output in attempts for token in output]
    return Workload(
        session_ids=tuple(f"s{i}" for i in range(len(sessions))),
        session_start_s=np.array([session.start_s for session in sessions]),
        session_parent=np.array([NO_PARENT if by is None else bounds[by[0]] + by[1] for by in spawned], np.int32),
        session_reward=np.full(len(sessions), np.nan),
        session_turns=bounds,
        turn_ids=tuple(f"t{i}" for i in range(len(turns))),
        turn_parent=np.array(parents, np.int32),
        turn_prompt_tokens=np.array([len(turn.prompt) for turn in turns], np.int64),
        turn_tool_wait_s=np.array([np.nan if turn.wait_s is None else turn.wait_s for turn in turns]),
        turn_has_tools=np.array([turn.wait_s is not None for turn in turns], np.bool_),
        turn_user_wait_s=np.full(len(turns), np.nan),
        turn_sent_s=np.full(len(turns), np.nan),
        turn_attempts=np.cumsum([0, *sizes]),
        attempt_rejected=np.array([i + 1 < size for size in sizes for i in range(size)], np.bool_),
        labels=np.array(labels, np.uint8),
        offsets=np.cumsum([0] + [len(output) for _, output in attempts]),
        paths=block_paths([turn.prompt + output for turn, output in attempts], block_size),
    )


def single_turns(prompts: list[int], outputs: list[int], *, start_s: list[float] | None = None) -> Workload:
    """A workload of one-turn sessions that share nothing, given by lengths; all labels are F."""
    count = len(prompts)
    starts = np.zeros(count) if start_s is None else np.array(start_s)
    return Workload(
        session_ids=tuple(f"s{i}" for i in range(count)),
        session_start_s=starts,
        session_parent=np.full(count, NO_PARENT, np.int32),
        session_reward=np.full(count, np.nan),
        session_turns=np.arange(count + 1),
        turn_ids=("t0",) * count,
        turn_parent=np.full(count, NO_PARENT, np.int32),
        turn_prompt_tokens=np.array(prompts, np.int64),
        turn_tool_wait_s=np.full(count, np.nan),
        turn_has_tools=np.zeros(count, np.bool_),
        turn_user_wait_s=np.full(count, np.nan),
        turn_sent_s=np.full(count, np.nan),
        turn_attempts=np.arange(count + 1),
        attempt_rejected=np.zeros(count, np.bool_),
        labels=np.full(int(np.sum(outputs)), 7, np.uint8),
        offsets=np.cumsum([0, *outputs]),
        paths=BlockPaths([np.empty(0, np.int32)] * count, 0),
    )


@dataclass(frozen=True)
class Coin:
    """Each position accepts its draft with probability *p*; a round drafts gamma tokens, or 0 to gamma at random."""

    p: float
    varying: bool = False

    def potential(self, outputs: Outputs, gamma: int) -> Potential:
        drafted = np.full(len(outputs.labels), gamma)
        position = outputs.position.astype(np.uint64)
        keys = outputs.keys[outputs.attempt]
        if self.varying:
            drafted = np.floor(rng.uniform(keys ^ np.uint64(1), position) * (gamma + 1)).astype(np.int64)
        misses = rng.uniform(keys, position) >= self.p
        index = np.arange(len(misses))
        next_miss = np.minimum.accumulate(np.where(misses, index, len(misses))[::-1])[::-1]
        accepted = np.minimum.reduce([next_miss - index, drafted, outputs.left - 1])
        return Potential(accepted.astype(np.int16), drafted.astype(np.int16))


def roofline(gamma: int) -> RooflineCost:
    """A roofline with a draft model when *gamma* > 0."""
    draft = model_named("Qwen3-0.6B") if gamma else None
    return RooflineCost(gpu=gpu_named("H200"), target=model_named("Qwen3-8B"), draft=draft, efficiency=Efficiency())


@dataclass(frozen=True)
class Case:
    """One replay."""

    workload: Workload
    config: ReplayConfig


@st.composite
def _turns(draw: st.DrawFn, shared: Tokens, salt: int, *, exact_times: bool) -> tuple[Turn, ...]:
    waits = st.integers(0, 64).map(lambda n: n / 64) if exact_times else st.floats(0.0011, 0.5)
    turns: list[Turn] = []
    text = shared[: draw(st.integers(0, len(shared)))]
    for number in range(draw(st.integers(1, 3))):
        fresh = draw(st.integers(0, 9))
        base = 1000 * salt + 100 * number
        prompt = (*text, *range(base, base + fresh)) or (base,)
        lengths = draw(st.lists(st.integers(1, 14), min_size=1, max_size=2))
        outputs = tuple(
            tuple(range(base + 30 + 20 * i, base + 30 + 20 * i + length)) for i, length in enumerate(lengths)
        )
        parent = draw(st.one_of(st.none(), st.integers(0, number - 1))) if number else None
        turns.append(Turn(prompt=prompt, outputs=outputs, parent=parent, wait_s=draw(st.none() | waits)))
        text = prompt + outputs[-1] if draw(st.booleans()) else prompt
    return tuple(turns)


@st.composite
def session_lists(draw: st.DrawFn, *, exact_times: bool) -> list[Session]:
    """One to six sessions whose prompts begin with parts of one common text."""
    starts = st.integers(0, 64).map(lambda n: n / 32) if exact_times else st.floats(0.0, 0.3)
    shared = tuple(range(draw(st.integers(0, 16))))
    sessions: list[Session] = []
    for number in range(draw(st.integers(1, 6))):
        spawned_by = None
        if number and draw(st.integers(0, 4)) == 0:
            parent = draw(st.integers(0, number - 1))
            spawned_by = (parent, draw(st.integers(0, len(sessions[parent].turns) - 1)))
        turns = draw(_turns(shared, number + 1, exact_times=exact_times))
        sessions.append(Session(turns=turns, start_s=draw(starts), spawned_by=spawned_by))
    return sessions


@st.composite
def engine_configs(draw: st.DrawFn, *, max_model_len: int) -> EngineConfig:
    """Configurations with few blocks and small budgets."""
    gamma = draw(st.integers(0, 8))
    methods = [method for method in SpeculativeMethod if method is not SpeculativeMethod.NONE]
    block_size = draw(st.sampled_from([1, 2, 4, 5]))
    max_num_seqs = draw(st.integers(1, 6))
    smallest = max(max_num_seqs, gamma + 1)
    chunked = draw(st.integers(0, 5)) > 0
    budget = draw(st.integers(smallest, smallest + 24)) if chunked else max_model_len + draw(st.integers(0, 20))
    fewest = -(-max_model_len // block_size)
    return EngineConfig(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max(budget, smallest),
        max_model_len=max_model_len,
        block_size=block_size,
        num_gpu_blocks=fewest + draw(st.integers(0, 2 * fewest)),
        enable_prefix_caching=draw(st.integers(0, 5)) > 0,
        enable_chunked_prefill=chunked,
        long_prefill_token_threshold=draw(st.sampled_from([0, 0, 0, 3, 7])),
        num_speculative_tokens=gamma,
        speculative_method=draw(st.sampled_from(methods)) if gamma else SpeculativeMethod.NONE,
    )


def _declared(draw: st.DrawFn) -> CostModel:
    """Costs whose sums are exact in binary, so that events may truly coincide."""
    parts = st.sampled_from([0.0, 1.0, 0.5, 0.25])
    return DeclaredCost(
        c_T_s=draw(st.sampled_from([1.0, 0.5])) / 16,
        delta=0.0,
        d=draw(parts) / 16,
        overhead=draw(parts),
        prefill_s_per_token=draw(parts) / 64,
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random small replays: declared costs with exact times, or a roofline."""
    exact_times = draw(st.booleans())
    sessions = draw(session_lists(exact_times=exact_times))
    longest = max(len(t.prompt) + max(map(len, t.outputs)) for s in sessions for t in s.turns)
    max_model_len = max(2, longest - draw(st.sampled_from([0, 0, 0, 2, 9])))
    engine = draw(engine_configs(max_model_len=max_model_len))
    gamma = engine.num_speculative_tokens
    cost = _declared(draw) if exact_times else roofline(gamma)
    join = draw(st.booleans())
    if draw(st.booleans()):
        load = LoadConfig(mode=SessionMode.RECORDED, join_sub_agents=join)
    else:
        load = LoadConfig(mode=SessionMode.CLOSED, max_concurrency=draw(st.integers(1, 5)), join_sub_agents=join)
    coin = Coin(draw(st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0])), varying=draw(st.booleans()))
    config = ReplayConfig(
        engine=engine, cost=cost, acceptance=coin if gamma else None, load=load, seed=draw(st.integers(0, 3))
    )
    return Case(build(sessions, engine.block_size), config)
