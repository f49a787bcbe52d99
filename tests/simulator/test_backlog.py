"""A queue that writes down what is far back gives the sequences in the order in which they came."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import backlog
from simulator.backlog import Backlog
from simulator.scheduler import Sequence


def _recall(number: int, arrival_s: float) -> Sequence:
    return Sequence(number, int(arrival_s))


@given(st.lists(st.sampled_from(["come", "go", "back"]), max_size=80), st.integers(1, 5))
def test_order_is_that_of_a_plain_queue(moves: list[str], objects: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backlog, "OBJECTS", objects)
        queue, plain = Backlog(_recall), deque[int]()
        running: list[Sequence] = []
        for number, move in enumerate(moves):
            if move == "come":
                plain.append(number)
                if queue.writes_down:
                    queue.write_down(number, 2.0 * number)
                else:
                    queue.append(Sequence(number, 2 * number))
            elif move == "go" and plain:
                assert queue.head().id == plain[0]
                running.append(queue.popleft())
                assert running[-1].prompt_tokens == 2 * running[-1].id
                assert running[-1].id == plain.popleft()
            elif move == "back" and running:
                queue.appendleft(running[-1])
                plain.appendleft(running.pop().id)
            assert len(queue) == len(plain)
        assert [queue.popleft().id for _ in plain] == list(plain)
        assert not queue


def test_one_that_cannot_recall_writes_nothing_down() -> None:
    queue = Backlog()
    for number in range(3 * backlog.OBJECTS):
        assert not queue.writes_down
        queue.append(Sequence(number, 1))
    with pytest.raises(IndexError):
        Backlog().head()
