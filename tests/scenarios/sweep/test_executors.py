"""Processes that die: their run is tried once more, then recorded, and no other is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenarios.options.replay import OptionError
from scenarios.options.settings import settings
from scenarios.recordings.loaded import Loaded, load
from scenarios.sweep.executors.base import Executor, Resources, executor_names, make_executor
from scenarios.sweep.sharedfile import open_loaded, save_loaded
from scenarios.sweep.work import Failure, Task, work
from tests.scenarios.sweep.recordings import DiesOnOpening, short_recording


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    from scenarios.ask import question

    chosen = settings({"speculative_method": "ngram"})
    return load([str(short_recording(tmp_path))], question(chosen.read, chosen.replay).reading)


def _executor(folder: Path, jobs: int) -> Executor:
    return make_executor("local", Resources(jobs=jobs, address=None, folder=folder))


def _task(key: str, reading: str, **values: Any) -> Task:
    return Task(key=key, values=values, reading=reading)


def test_a_mapped_recording_answers_like_the_one_in_memory(loaded: Loaded, tmp_path: Path) -> None:
    save_loaded(loaded, tmp_path / "one")
    mapped = open_loaded(tmp_path / "one")
    assert not mapped.workload.labels.flags.writeable
    assert not mapped.workload.labels.flags.owndata
    for values in ({"gamma": 4}, {"gamma": 4, "speculative_method": "ngram"}):
        assert work(mapped, _task("k", "r", **values)) == work(loaded, _task("k", "r", **values))


def test_a_run_on_which_a_process_dies_once_is_done_by_another(loaded: Loaded, tmp_path: Path) -> None:
    executor = _executor(tmp_path, 2)
    try:
        executor.share("good", loaded)
        executor.share("bad", DiesOnOpening(loaded, tmp_path / "tally", 1))  # type: ignore[arg-type]
        tasks = [_task(str(at), "bad" if at == 1 else "good", gamma=at) for at in range(5)]
        done = {one.task.key: one.worked for one in executor.run(tasks)}
    finally:
        executor.close()
    assert (tmp_path / "tally").read_text() == "x"
    assert done == {task.key: work(loaded, task) for task in tasks}


def test_a_run_on_which_processes_die_twice_is_recorded(loaded: Loaded, tmp_path: Path) -> None:
    executor = _executor(tmp_path, 2)
    try:
        executor.share("good", loaded)
        executor.share("bad", DiesOnOpening(loaded, tmp_path / "tally", 9))  # type: ignore[arg-type]
        tasks = [_task(str(at), "bad" if at == 1 else "good", gamma=at) for at in range(4)]
        done = {one.task.key: one.worked.kept for one in executor.run(tasks)}
        again = [one.worked.kept.failure for one in executor.run([_task("9", "good", gamma=0)])]
    finally:
        executor.close()
    assert done["1"].failure is Failure.DIED
    assert "died 2 times (SIGKILL)" in str(done["1"].error)
    assert [done[key].failure for key in ("0", "2", "3")] == [None, None, None]
    assert again == [None]


def test_what_goes_wrong_unforeseen_is_recorded_with_its_kind(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("scenarios.sweep.work.answer", broken)
    kept = work(loaded, _task("k", "r", gamma=4)).kept
    assert (kept.failure, kept.error) == (Failure.ERROR, "ZeroDivisionError: by nothing")


def test_executors_are_found_by_name(tmp_path: Path) -> None:
    assert {"local", "ray"} <= set(executor_names())
    with pytest.raises(OptionError, match="did you mean 'local'"):
        make_executor("lokal", Resources(jobs=1, address=None, folder=tmp_path))
