"""Tags sessions in worker processes: the same tallies in the same order as in one process."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from scenarios.options.read import ReadOptions
from scenarios.recordings.outputsonly import outputs_only
from scenarios.tags.tagsession import Detail, SessionTagger, SessionTally
from traces.errors import SimtoolError
from traces.model import Session

_BATCH_TURNS = 64
"""Turns that are sent to a process at once, at least one session."""
_AHEAD = 2
"""Batches a process may have waiting, so that memory does not grow with the trace."""

_tagger: SessionTagger | None = None


def session_tallies(
    sessions: Iterable[Session], options: ReadOptions, detail: Detail, *, jobs: int = 1
) -> Iterator[SessionTally]:
    """The tally of each of *sessions* in order, by *jobs* processes.

    Raises SimtoolError for outputs that nothing classifies.
    """
    tagger = SessionTagger(options, detail)
    if jobs == 1:
        yield from map(tagger.tally, sessions)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(options, detail))
    waiting: deque[Future[list[SessionTally] | str]] = deque()
    try:
        for batch in _batches(sessions):
            waiting.append(pool.submit(_tally, batch))
            if len(waiting) > jobs * _AHEAD:
                yield from _finished(waiting.popleft())
        while waiting:
            yield from _finished(waiting.popleft())
    except BrokenProcessPool:
        raise SimtoolError("a worker process died (is there memory for that many? give fewer --jobs)") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _batches(sessions: Iterable[Session]) -> Iterator[list[Session]]:
    batch: list[Session] = []
    turns = 0
    for session in sessions:
        batch.append(outputs_only(session))
        turns += len(session.turns)
        if turns >= _BATCH_TURNS:
            yield batch
            batch, turns = [], 0
    if batch:
        yield batch


def _finished(future: Future[list[SessionTally] | str]) -> list[SessionTally]:
    result = future.result()
    if isinstance(result, str):
        raise SimtoolError(result)
    return result


def _start(options: ReadOptions, detail: Detail) -> None:
    global _tagger
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tagger = SessionTagger(options, detail)


def _tally(batch: Sequence[Session]) -> list[SessionTally] | str:
    """The tallies of *batch*, or the message of the error that a user can mend."""
    assert _tagger is not None
    try:
        return [_tagger.tally(session) for session in batch]
    except SimtoolError as error:
        return str(error)
