"""A recording repeated: every task as it was, nothing shared that was not, and the prefix cache hits as much."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.ask import question
from scenarios.decide import replay_once
from scenarios.options.settings import settings
from scenarios.recordings.loaded import load
from simulator.metrics import hit_rates
from simulator.replay import Replay
from simulator.sessions import LoadConfig
from simulator.tile import in_passes, tiled, tiles
from simulator.turncut import with_turns
from simulator.workload import NO_PARENT, Workload
from tests.shared import AGENT_LOOP

SETTINGS = settings({"gamma": 0})
ASKED = question(SETTINGS.read, SETTINGS.replay)


@pytest.fixture(scope="module")
def recorded() -> Workload:
    return load([str(AGENT_LOOP)], ASKED.reading).workload


def alone(workload: Workload) -> Replay:
    """One session at a time."""
    platform = ASKED.platform
    return replay_once(workload, platform.engine, platform, None, LoadConfig(max_concurrency=1), 0)  # type: ignore[arg-type]


def repeated(workload: Workload, copies: int) -> Workload:
    source = tiles(workload)
    return tiled(source, *in_passes(source, copies * source.pool.size, 7)).workload


def by_name(workload: Workload) -> dict[tuple[str, str], tuple[int, bytes]]:
    names = zip(np.array(workload.session_ids)[workload.turn_session], workload.turn_ids, strict=True)
    labels = [
        workload.labels[workload.offsets[first] : workload.offsets[last]].tobytes()
        for first, last in zip(workload.turn_attempts[:-1], workload.turn_attempts[1:], strict=True)
    ]
    return dict(zip(names, zip(workload.turn_prompt_tokens.tolist(), labels, strict=True), strict=True))


def test_one_pass_has_each_task_once_as_recorded(recorded: Workload) -> None:
    once = repeated(recorded, 1)
    assert by_name(once) == by_name(recorded)
    assert hit_rates(alone(once)) == pytest.approx(hit_rates(alone(recorded)), abs=0.01)


def test_links_stay_within_the_task(recorded: Workload) -> None:
    many = repeated(recorded, 3)
    spawned = np.flatnonzero(many.session_parent != NO_PARENT)
    assert spawned.size == 3 * np.count_nonzero(recorded.session_parent != NO_PARENT) > 0
    for session in spawned.tolist():
        spawner = many.session_ids[int(many.turn_session[many.session_parent[session]])]
        assert spawner.partition("\x1f")[1:] == many.session_ids[session].partition("\x1f")[1:]
    waiting = np.flatnonzero(many.turn_parent != NO_PARENT)
    assert (many.turn_session[waiting] == many.turn_session[many.turn_parent[waiting]]).all()
    assert (many.turn_parent[waiting] < waiting).all()


def test_copies_share_what_several_tasks_share(recorded: Workload) -> None:
    source = tiles(recorded)
    tiling = tiled(source, *in_passes(source, 3 * source.pool.size, 0))
    owner: dict[int, set[int]] = {}
    place = tiling.turn_place[tiling.workload.attempt_turn]
    for path, at in zip(tiling.workload.paths.paths, place.tolist(), strict=True):
        for block in path.tolist():
            owner.setdefault(block, set()).add(at)
    assert max(owner) < tiling.workload.paths.num_identities
    assert all((len(places) > 1) == (block < source.num_shared) for block, places in owner.items())


def test_hit_rate_neither_grows_nor_falls(recorded: Workload) -> None:
    before, after = hit_rates(alone(recorded))[0], hit_rates(alone(repeated(recorded, 8)))[0]
    assert after == pytest.approx(before, abs=0.01)


def test_all_turns_kept_change_nothing(recorded: Workload) -> None:
    same, sessions = with_turns(recorded, np.ones(recorded.n_turns, dtype=np.bool_))
    assert sessions.size == recorded.n_sessions
    assert np.array_equal(alone(same).finish_s, alone(recorded).finish_s)


def test_what_is_left_of_a_session_starts_by_itself(recorded: Workload) -> None:
    keep = np.arange(recorded.n_turns) - recorded.session_turns[recorded.turn_session] >= 2
    left, sessions = with_turns(recorded, keep)
    assert left.n_turns == np.count_nonzero(keep)
    expected = {name: turn for (name, turn), one in zip(by_name(recorded).items(), keep.tolist(), strict=True) if one}
    assert by_name(left) == expected
    assert [left.session_ids[k] for k in range(left.n_sessions)] == [recorded.session_ids[s] for s in sessions.tolist()]
    first = left.session_turns[:-1]
    assert (left.turn_parent[first] == NO_PARENT).all()
    assert np.isfinite(alone(left).finish_s).all()


def test_a_pool_is_drawn_where_there_is_too_much(recorded: Workload) -> None:
    whole = tiles(recorded)
    part = tiles(recorded, recorded.n_attempts / 2)
    assert 1 <= part.pool.size < whole.pool.size
    assert part.attempts_per_task * part.pool.size <= recorded.n_attempts / 2
