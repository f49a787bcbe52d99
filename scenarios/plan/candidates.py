"""What a plan chooses from: GPU types, tensor parallel sizes, draft depths, host memory for KV, and routers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scenarios.ask import Question, question
from scenarios.options.replay import OptionError
from scenarios.options.settings import settings
from scenarios.plan.axes import AXES, FLAGS
from simulator.hardware import gpu_named
from simulator.router import router_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One kind of replica, and how requests are spread over several."""

    gpu: str
    tensor_parallel_size: int
    gamma: str
    kv_offload_gb: float
    router: str
    one_of: int
    """How many routers are compared."""
    values: Mapping[str, Any] = field(repr=False)
    """All options by key."""

    @property
    def name(self) -> str:
        """Short, as in a table; with the router where several are compared."""
        return f"{self.kind} {self.router}" if self.one_of > 1 else self.kind

    @property
    def kind(self) -> str:
        """The same of the replica alone."""
        offload = f" +{self.kv_offload_gb:g} GB host" if self.kv_offload_gb else ""
        return f"{self.gpu} tp{self.tensor_parallel_size} gamma {self.gamma}{offload}"

    def question(self, replicas: int = 1) -> Question:
        """Its options resolved for *replicas* of it. Raises OptionError, for a model that does not fit too."""
        chosen = settings({**self.values, "replicas": replicas})
        return question(chosen.read, chosen.replay)


def candidates(given: Mapping[str, Any], axes: Mapping[str, str]) -> list[Candidate]:
    """Every combination of *axes*, lists as a user writes them by key; all other options as *given*.

    Raises OptionError for values that no candidate can have.
    """
    gpus = [_gpu(text) for text in _items(axes, "gpu")]
    sizes = [_number(text, "tensor_parallel_size", int, 1) for text in _items(axes, "tensor_parallel_size")]
    gammas = _items(axes, "gamma")
    offloads = [_number(text, "kv_offload_gb", float, 0) for text in _items(axes, "kv_offload_gb")]
    routers = [_router(text) for text in _items(axes, "router")]
    for gamma in gammas:
        settings({"gamma": gamma})
    return [
        Candidate(
            gpu=gpu,
            tensor_parallel_size=int(size),
            gamma=gamma,
            kv_offload_gb=float(offload),
            router=router,
            one_of=len(routers),
            values={**given, **dict(zip(AXES, (gpu, int(size), gamma, float(offload), router), strict=True))},
        )
        for gpu, size, gamma, offload, router in itertools.product(gpus, sizes, gammas, offloads, routers)
    ]


def kinds(chosen: Iterable[Candidate]) -> list[list[Candidate]]:
    """*chosen* in groups that differ by their routers only."""
    return [list(group) for _, group in itertools.groupby(chosen, key=lambda one: one.kind)]


def _items(axes: Mapping[str, str], key: str) -> list[str]:
    """The values of a list; depths by class, which have commas of their own, are parted by semicolons."""
    text = axes[key]
    parts = text.split(";") if "=" in text else text.split(",")
    items = list(dict.fromkeys(part.strip() for part in parts))
    if not all(items):
        raise OptionError(f"{FLAGS[key]} {text!r} has an empty item")
    return items


def _gpu(name: str) -> str:
    try:
        return gpu_named(name).name
    except ValueError as error:
        raise OptionError(f"{FLAGS['gpu']}: {error}") from error


def _router(name: str) -> str:
    if name not in router_names():
        raise OptionError(f"{FLAGS['router']} {name!r}: give some of {', '.join(router_names())}")
    return name


def _number(text: str, key: str, kind: type[int] | type[float], least: float) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not least <= value < float("inf"):
        what = "a whole number" if kind is int else "a number"
        raise OptionError(f"{FLAGS[key]} {text!r}: give {what} of at least {least:g}") from None
    return value
