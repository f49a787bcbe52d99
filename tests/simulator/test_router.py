"""Routers on replicas that only report: who is chosen, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engine import Request
from simulator.kvcache import BlockTable
from simulator.router import make_router, router_names
from simulator.routers.prefix_aware import PrefixAware

POLICIES = router_names()


@dataclass
class Reports:
    """A replica that reports what it was given."""

    num_waiting: int = 0
    num_running: int = 0
    cached: dict[int, int] = field(default_factory=dict)
    """Hit tokens by the first block of a path."""

    def hit_tokens(self, table: BlockTable, prompt_tokens: int) -> int:
        return min(self.cached.get(int(table.path[0]), 0) if table.path.size else 0, prompt_tokens - 1)


def _request(number: int, prompt: int = 100, first_block: int | None = None) -> Request:
    path = [] if first_block is None else [first_block]
    return Request(number, prompt, np.array(path, np.int32))


def test_round_robin_takes_turns() -> None:
    router = make_router("round-robin", [Reports()] * 3, [0] * 7)
    assert [router.choose(_request(i)) for i in range(7)] == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("waiting", "running", "chosen"),
    [([0, 0, 0], [3, 2, 2], 1), ([1, 0, 0], [0, 4, 5], 0), ([1, 0, 0], [0, 3, 5], 1), ([0, 0], [0, 0], 0)],
)
def test_least_loaded_weighs_a_waiting_request_as_four_running(
    waiting: list[int], running: list[int], chosen: int
) -> None:
    replicas = [Reports(w, r) for w, r in zip(waiting, running, strict=True)]
    assert make_router("least-loaded", replicas, [0]).choose(_request(0)) == chosen


def test_a_session_stays_where_it_began() -> None:
    replicas = [Reports(num_running=5), Reports()]
    router = make_router("session-affinity", replicas, [0, 1, 0, 1])
    assert router.choose(_request(0)) == 1
    replicas[1].num_running = 9
    assert router.choose(_request(1)) == 0
    replicas[0].num_running = 99
    assert [router.choose(_request(i)) for i in (2, 3)] == [1, 0]


def test_a_cached_prefix_draws_a_request_until_the_queue_there_costs_more() -> None:
    replicas = [Reports(), Reports(cached={7: 90})]
    router = make_router("prefix-aware", replicas, [0] * 9)
    sent = [_request(i, 100, 7) for i in range(3)]
    assert router.choose(sent[0]) == 1  # 10 tokens to compute there, 100 here
    assert router.choose(sent[1]) == 0  # 10 + 10 queued + 100 held there
    sent[0].first_token_s = 1.0
    router.finished(sent[0], 1)
    assert router.choose(sent[2]) == 1


Step = tuple[int, int | None, str]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(st.integers(0, 2), st.integers(0, 60)), min_size=1, max_size=4),
    st.lists(
        st.tuples(st.integers(1, 80), st.none() | st.integers(0, 2), st.sampled_from(["run", "end", "refuse", ""])),
        max_size=20,
    ),
)
def test_prefix_aware_minimises_its_formula(caches: list[dict[int, int]], steps: list[Step]) -> None:
    replicas = [Reports(cached=cached) for cached in caches]
    router = PrefixAware(replicas)
    sent: list[tuple[Request, int, int]] = []
    ended: set[int] = set()
    for number, (prompt, block, then) in enumerate(steps):
        request = _request(number, prompt, block)
        costs = []
        for index, replica in enumerate(replicas):
            mine = [entry for entry in sent if entry[1] == index]
            queued = sum(f for r, _, f in mine if r.first_token_s is None and not r.refused)
            held = sum(r.prompt_tokens for r, _, _ in mine if r.id not in ended)
            costs.append(queued + held + prompt - replica.hit_tokens(BlockTable(request.path), prompt))
        chosen = router.choose(request)
        assert chosen == costs.index(min(costs))
        fresh = prompt - replicas[chosen].hit_tokens(BlockTable(request.path), prompt)
        sent.append((request, chosen, fresh))
        if then == "refuse":
            request.refused = True
            ended.add(request.id)
            router.finished(request, chosen)
        elif then:  # requests get their first token in the order in which they were sent there
            oldest = next(r for r, i, _ in sent if i == chosen and r.first_token_s is None and not r.refused)
            oldest.first_token_s = float(number)
            if then == "end":
                ended.add(oldest.id)
                router.finished(oldest, chosen)


@pytest.mark.parametrize("policy", POLICIES)
def test_one_replica_serves_everything(policy: str) -> None:
    router = make_router(policy, [Reports()], list(range(5)))
    assert [router.choose(_request(i)) for i in range(5)] == [0] * 5
