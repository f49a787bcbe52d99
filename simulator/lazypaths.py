"""Block paths of many requests, each made when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from simulator.kvcache import BlockIds


class LazyPaths(Sequence[BlockIds]):
    """A sequence of paths; what it takes is their number and `path`."""

    @abstractmethod
    def path(self, index: int) -> BlockIds:
        """The path of request *index*, 0 or more."""

    @overload
    def __getitem__(self, index: int) -> BlockIds: ...
    @overload
    def __getitem__(self, index: slice) -> list[BlockIds]: ...
    def __getitem__(self, index: int | slice) -> BlockIds | list[BlockIds]:
        """The path of one request, or those of a slice of them."""
        places = range(len(self))[index]
        return self.path(places) if isinstance(places, int) else [self.path(place) for place in places]


class ChosenPaths(LazyPaths):
    """Some of *paths*, by their numbers."""

    def __init__(self, paths: Sequence[BlockIds], chosen: npt.NDArray[np.int64]) -> None:
        self._paths, self._chosen = paths, chosen

    def __len__(self) -> int:
        return self._chosen.size

    def path(self, index: int) -> BlockIds:
        """The path of request *index*."""
        return self._paths[int(self._chosen[index])]
