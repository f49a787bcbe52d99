"""The same results on a Ray cluster of two nodes, one of whose workers dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarios.ask import question
from scenarios.options.settings import settings
from scenarios.recordings.loaded import load
from scenarios.sweep.executors.base import Resources, make_executor
from scenarios.sweep.run import Where, sweep
from scenarios.sweep.work import Failure, Task, work
from tests.scenarios.sweep.recordings import DiesOnOpening, short_recording, swept

pytest.importorskip("ray", reason="the ray extra is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own making


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of two nodes with one core each."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 128 << 20})
    made.add_node(num_cpus=1, object_store_memory=128 << 20)
    ray.init(address=made.address, log_to_driver=False)
    made.wait_for_nodes()
    yield str(made.address)
    ray.shutdown()
    made.shutdown()


def test_a_cluster_gives_the_same_bytes(cluster: str, tmp_path: Path) -> None:
    import ray

    from scenarios.sweep.axes import parse_axis
    from scenarios.sweep.definition import Request

    axes = ("gamma=0,4", "max_concurrency=1,4", "block_size=16,32")
    swept(tmp_path / "local", *axes)
    request = Request(axes=tuple(map(parse_axis, axes)))
    where = Where(folder=tmp_path / "ray", executor="ray", address=cluster)
    summary = sweep([str(short_recording(tmp_path))], {}, request, where)
    assert summary.runs.finished == 8
    for name in ("results.parquet", "summary.json", "sweep.json"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2


def test_a_worker_that_dies_loses_nothing(cluster: str, tmp_path: Path) -> None:
    chosen = settings({})
    loaded = load([str(short_recording(tmp_path))], question(chosen.read, chosen.replay).reading)
    executor = make_executor("ray", Resources(jobs=None, address=cluster, folder=tmp_path))
    dying: list[Any] = [DiesOnOpening(loaded, tmp_path / name, times) for name, times in (("once", 1), ("always", 99))]
    try:
        executor.share("good", loaded)
        executor.share("once", dying[0])
        executor.share("always", dying[1])
        readings = ("good", "once", "good", "always")
        tasks = [Task(key=str(at), values={"gamma": at}, reading=name) for at, name in enumerate(readings)]
        done = {one.task.key: one.worked for one in executor.run(tasks)}
    finally:
        executor.close()
    assert {key: done[key] for key in "012"} == {task.key: work(loaded, task) for task in tasks[:3]}
    assert done["3"].kept.failure is Failure.DIED
