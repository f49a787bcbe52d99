"""Which replica serves a request: routers see queues, cached prefixes and prompt lengths, never outputs.

A router is one module of `simulator.routers` with ``make(replicas, session_of) -> Router``; its name is the module's,
with dashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from simulator import routers
from traces.choice import not_one_of
from traces.modules import names_in

if TYPE_CHECKING:
    from simulator.engine import Request
    from simulator.kvcache import BlockTable

DEFAULT_ROUTER = "least-loaded"


class Target(Protocol):
    """A replica as a router sees it."""

    @property
    def num_waiting(self) -> int:
        """Requests that are queued."""
        ...

    @property
    def num_running(self) -> int:
        """Requests that are in prefill or decoding."""
        ...

    def hit_tokens(self, table: BlockTable, prompt_tokens: int) -> int:
        """Prompt tokens that *table* would find in the cache if it were admitted now."""
        ...


class Router(Protocol):
    """Picks replicas by index; ties go to the lowest.

    One with a true ``forgets_requests`` never looks at a request again after `choose`: those that wait in a long queue
    are then not held.
    """

    def choose(self, request: Request) -> int:
        """The replica for *request*, which the caller then submits there."""
        ...

    def finished(self, request: Request, index: int) -> None:
        """*request* is done, or was refused, on replica *index*."""
        ...


def router_names() -> list[str]:
    """Names of the routers there are."""
    return [name.replace("_", "-") for name in names_in(routers)]


def make_router(name: str, replicas: Sequence[Target], session_of: Sequence[int]) -> Router:
    """The router called *name* over *replicas*; *session_of* has the session of each request by id.

    Raises ValueError for an unknown name.
    """
    check_router(name)
    if len(replicas) == 1:
        name = "round-robin"
    module = import_module(f"{routers.__name__}.{name.replace('-', '_')}")
    return cast("Router", module.make(replicas, session_of))


def check_router(name: str) -> None:
    """Raise ValueError unless there is a router called *name*."""
    if name not in router_names():
        raise ValueError(f"--router {not_one_of(name, router_names())}")
