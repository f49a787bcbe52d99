"""Counts of all token strings up to a depth, with the likeliest continuation of each, kept as a growing text is read.

A string that occurred once is not spelled out: its node points into the text, and gets a child only when the string
occurs again. So work and memory follow what is repeated, not the text's length times the depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.acceptance.compiled import compiled

I32 = npt.NDArray[np.int32]

ROOT = 0
TOKEN, PARENT, COUNT, BEST, AT, END, CHILD, SIBLING = range(8)
"""Columns of a node. BEST: the likeliest child, -1 for none. AT: position of the node's last token where the string
occurred once, -1 once its continuation is a child; END: end of the sequence that AT lies in. CHILD and SIBLING link
a node's children."""

_MIX_NODE = 0x1E3779B97F4A7C15
_MIX_TOKEN = 0x2545F4914F6CDD1D


class SuffixTree(NamedTuple):
    """Nodes, and a hash table of their numbers by parent and token.

    Node 0 is the empty string; its COUNT is the number of nodes.
    """

    nodes: I32
    """One row a node, with the columns above."""
    slots: I32
    """Node numbers, -1 where free; a power of two of them."""

    @classmethod
    def empty(cls) -> SuffixTree:
        """A tree that has read nothing."""
        return _sized(np.array([[-1, -1, 1, -1, -1, -1, -1, -1]], dtype=np.int32), 1, 1024)

    def with_room(self, more: int) -> SuffixTree:
        """The same tree with room for *more* nodes: this one, or one that takes its place."""
        used = int(self.nodes[ROOT, COUNT])
        return self if used + more <= len(self.nodes) else _sized(self.nodes, used, 2 * (used + more))


def _sized(nodes: I32, used: int, room: int) -> SuffixTree:
    rows = np.empty((room, 8), dtype=np.int32)
    rows[:used] = nodes[:used]
    slots = np.full(1 << (2 * room - 1).bit_length(), -1, dtype=np.int32)
    _hash_all(rows, slots)
    return SuffixTree(rows, slots)


@compiled
def _slot(nodes: I32, slots: I32, parent: int, token: int) -> int:
    """The slot of a child, or the free one where it belongs."""
    mask = len(slots) - 1
    mixed = parent * _MIX_NODE + token * _MIX_TOKEN
    at = (mixed ^ (mixed >> 31)) & mask
    while slots[at] >= 0 and (nodes[slots[at], PARENT] != parent or nodes[slots[at], TOKEN] != token):
        at = (at + 1) & mask
    return at


@compiled
def _hash_all(nodes: I32, slots: I32) -> None:
    for node in range(1, nodes[ROOT, COUNT]):
        slots[_slot(nodes, slots, nodes[node, PARENT], nodes[node, TOKEN])] = node


@compiled
def child_of(nodes: I32, slots: I32, node: int, token: int) -> int:
    """The child of *node* by *token*, -1 if there is none."""
    child: int = nodes[node, BEST]
    if child < 0 or nodes[child, TOKEN] != token:
        child = slots[_slot(nodes, slots, node, token)]
    return child


@compiled
def _add_child(nodes: I32, slots: I32, parent: int, token: int, at: int, end: int) -> int:
    """A new child, counted once: its string ends at *at* of the sequence that ends at *end*."""
    node: int = nodes[ROOT, COUNT]
    nodes[ROOT, COUNT] += 1
    nodes[node, TOKEN] = token
    nodes[node, PARENT] = parent
    nodes[node, COUNT] = 1
    nodes[node, BEST] = -1
    nodes[node, AT] = at
    nodes[node, END] = end
    nodes[node, CHILD] = -1
    nodes[node, SIBLING] = nodes[parent, CHILD]
    nodes[parent, CHILD] = node
    slots[_slot(nodes, slots, parent, token)] = node
    return node


@compiled
def _count_child(nodes: I32, slots: I32, ids: I32, node: int, at: int, end: int, length: int, depth: int) -> int:
    """Count the string of *length* tokens, child of *node*, that ends at *at*.

    Returns its node, or -1 where it occurs for the first time or may not grow.
    """
    child = child_of(nodes, slots, node, ids[at])
    if child < 0:
        child = _add_child(nodes, slots, node, ids[at], at, end)
        grows = False
    else:
        nodes[child, COUNT] += 1
        earlier = nodes[child, AT]
        grows = length < depth and not (earlier >= 0 and nodes[child, COUNT] == 1)
        if earlier >= 0 and nodes[child, COUNT] == 1:
            nodes[child, AT] = at
            nodes[child, END] = end
        elif earlier >= 0:
            nodes[child, AT] = -1
            following = earlier + 1
            if length < depth and following < nodes[child, END] and ids[following] >= 0:
                nodes[child, BEST] = _add_child(nodes, slots, child, ids[following], following, nodes[child, END])
    if node != ROOT:
        count, best = nodes[child, COUNT], nodes[node, BEST]
        ahead = nodes[best, COUNT] if best >= 0 else 0
        if count > ahead or (count == ahead and count > 1):
            nodes[node, BEST] = child
    return child if grows else -1


@compiled
def append(nodes: I32, slots: I32, ids: I32, at: int, end: int, ending: I32) -> None:
    """Count the strings that end at position *at* of a sequence that ends at *end*.

    ``ending[m]`` is the node of the string of the m tokens before *at*, -1 where that occurred once only or begins
    before the sequence; it is brought up to *at*. There must be room for as many nodes as the depth.
    """
    if ids[at] < 0:
        ending[1:] = -1
        return
    depth = len(ending)
    for length in range(depth, 0, -1):
        node = ending[length - 1]
        grown = _count_child(nodes, slots, ids, node, at, end, length, depth) if node >= 0 else -1
        if length < depth:
            ending[length] = grown


@compiled
def restart(ending: I32) -> None:
    """Set *ending* to what it is before a sequence."""
    ending[:] = -1
    ending[0] = ROOT


@compiled
def remove(nodes: I32, slots: I32, ids: I32, start: int, end: int, depth: int) -> None:
    """Take back the strings of the sequence from *start* to *end*.

    Where a node's best child is then no longer the most counted, the most counted one of the lowest token takes its
    place.
    """
    for recount in (True, False):
        for first in range(start, end):
            node = ROOT
            for at in range(first, min(first + depth, end)):
                child = child_of(nodes, slots, node, ids[at]) if ids[at] >= 0 else -1
                if child < 0:
                    break
                if recount:
                    nodes[child, COUNT] -= 1
                elif node != ROOT and child == nodes[node, BEST]:
                    _choose_again(nodes, node)
                if nodes[child, AT] >= 0:
                    break
                node = child


@compiled
def _choose_again(nodes: I32, node: int) -> None:
    top, best = 0, -1
    child = nodes[node, CHILD]
    while child >= 0:
        count = nodes[child, COUNT]
        if count > top or (count == top and best >= 0 and nodes[child, TOKEN] < nodes[best, TOKEN]):
            top, best = count, child
        child = nodes[child, SIBLING]
    chosen = nodes[node, BEST]
    if top == 0 or chosen < 0 or nodes[chosen, COUNT] < top:
        nodes[node, BEST] = best
