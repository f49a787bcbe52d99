"""Keys of requests that go on from the one before: what they have in common is not written down again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_KEY_BYTES = 8


class KeyChain:
    """Finds how many leading keys of a request the one before had too."""

    def __init__(self) -> None:
        self._keys = b""
        self._width = 0
        self._whole = 0
        self._left_out = 0

    def common(self, keys: bytes, width: int, tokens: int) -> int:
        """How many of the *keys* of a request of *tokens* tokens, *width* for each key, need not be written again.

        Both requests have all tokens of these keys. The first of them that the request before left out is among them,
        so that what is before each key can be told from that request alone; if it is not, none are in common.
        """
        whole = min(tokens // width, len(keys) // _KEY_BYTES)
        most = min(whole, self._whole) if width == self._width else 0
        if most and not keys.startswith(self._keys[: most * _KEY_BYTES]):
            ours, theirs = (np.frombuffer(data, np.uint64, most) for data in (keys, self._keys))
            most = int((ours != theirs).argmax())
        left_out = most if most >= self._left_out else 0
        self._keys, self._width, self._whole, self._left_out = keys, width, whole, left_out
        return left_out

    def end(self) -> None:
        """Forget the last request."""
        self._width = 0


def sums_before(sums: U64, starts: I64, left_out: I64) -> U64:
    """Of each request, the sum of the hashes of the keys that it leaves out.

    *sums* has those of all keys that are written, those before it for each key and of all at its end; *starts* is
    where each request's begin. One that leaves out none is the first of a chain.
    """
    added = np.zeros(starts.size, np.uint64)
    goes_on = np.flatnonzero(left_out)
    before = starts[goes_on - 1]
    added[goes_on] = sums[before + left_out[goes_on] - left_out[goes_on - 1]] - sums[before]
    total = np.cumsum(added, dtype=np.uint64)
    first = np.maximum.accumulate(np.where(left_out, 0, np.arange(starts.size)))
    return total - total[first]
