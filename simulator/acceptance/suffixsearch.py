"""The suffix drafter's search, token by token: the best continuation of the last tokens in two suffix trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.acceptance.base import F64, I64
from simulator.acceptance.compiled import compiled
from simulator.acceptance.suffixtree import AT, BEST, COUNT, END, ROOT, TOKEN, SuffixTree, append, child_of, restart
from simulator.acceptance.tokens import I32

I16 = npt.NDArray[np.int16]


class Text(NamedTuple):
    """Sequences, the tree that counts their strings, and where the strings of the last 0, 1, ... tokens stand.

    *nodes* and *slots* are the tree's. *ending* has the nodes of strings that begin in the sequence being read (see
    `append`). *met* is for those that begin before it: the deepest node on the way there, *met_depth* tokens from the
    root; -1 where no sequence holds the string.
    """

    ids: I32
    nodes: I32
    slots: I32
    ending: I32
    met: I32
    met_depth: I32

    @classmethod
    def of(cls, ids: I32, depth: int) -> Text:
        """*ids* of which nothing is read yet."""
        ending, met, met_depth = np.full((3, depth), -1, dtype=np.int32)
        ending[0] = ROOT
        return cls(ids, *SuffixTree.empty(), ending, met, met_depth)

    def with_room(self, tokens: int) -> Text:
        """The same with room for the strings of *tokens* tokens more."""
        tree = SuffixTree(self.nodes, self.slots).with_room(tokens * len(self.ending))
        return self._replace(nodes=tree.nodes, slots=tree.slots)


class Rules(NamedTuple):
    """What bounds a draft. ``limits[m - 1]`` is the most tokens drafted after a match of m; *gammas* as asked."""

    limits: I64
    min_token_prob: float
    gammas: I64


class Drafts(NamedTuple):
    """The best draft found at each depth, and the one under trial with the sums of its probabilities."""

    tokens: I32
    lengths: I64
    scores: F64
    path: I32
    sums: F64

    @classmethod
    def none(cls, gammas: I64) -> Drafts:
        """Room for the drafts of *gammas*."""
        deepest, count = int(gammas.max(initial=0)), len(gammas)
        tokens = np.zeros((count, deepest), dtype=np.int32)
        lengths, scores = np.zeros(count, dtype=np.int64), np.zeros(count)
        return cls(tokens, lengths, scores, np.zeros(deepest, dtype=np.int32), np.zeros(deepest + 1))


@compiled
def read(text: Text, low: int, high: int) -> None:
    """Count positions *low* .. *high* - 1 of a sequence that is all of the text."""
    for at in range(low, high):
        append(text.nodes, text.slots, text.ids, at, len(text.ids), text.ending)


@compiled
def decode(
    own: Text, shared: Text, bounds: tuple[int, int], place: tuple[int, int], rules: Rules, drafts: Drafts, rows: I16
) -> None:
    """Draft before each token of the output at *bounds* of *own*, then count it in both texts.

    *place* is where the output starts in *shared* and how many tokens before it are its context there; without a
    sequence in *shared* only *own* is searched. Row i of *rows* gets, per depth, the accepted and the drafted tokens
    before the output's token i.
    """
    start, end = bounds
    begin, lead = place
    several = len(shared.ids) > 0
    if several:
        restart(shared.ending)
        shared.met[:] = -1
        shared.met[0] = ROOT
        shared.met_depth[0] = 0
        for at in range(begin - lead, begin):
            _meet(shared, at, at - begin)
    for at in range(start, end):
        here = begin + at - start
        for which in range(len(rules.gammas)):
            drafts.lengths[which] = 0
            drafts.scores[which] = 0.0
        matches = min(len(own.ending), at) - 1
        _search(own, at - 1, matches, matches, rules, drafts)
        if several:
            _search(shared, here - 1, here - begin, matches, rules, drafts)
        for which in range(len(rules.gammas)):
            length, agreeing = drafts.lengths[which], 0
            while agreeing < min(length, end - 1 - at) and drafts.tokens[which, agreeing] == own.ids[at + agreeing]:
                agreeing += 1
            rows[at - start, which, 0] = agreeing
            rows[at - start, which, 1] = length
        append(own.nodes, own.slots, own.ids, at, len(own.ids), own.ending)
        if several:
            _meet(shared, here, here - begin + 1)
            append(shared.nodes, shared.slots, shared.ids, here, begin + end - start, shared.ending)


@compiled
def _meet(text: Text, at: int, inside: int) -> None:
    """Go on to the strings that end at *at* of more than *inside* tokens, those of the sequence being read.

    Earlier sequences alone can hold those that begin before this one: in it their like would end later.
    """
    nodes, met, met_depth, token = text.nodes, text.met, text.met_depth, text.ids[at]
    for length in range(len(met) - 1, max(inside, 0), -1):
        node, depth = _deepest(text, at - 1, length - 1), met_depth[length - 1]
        met[length] = -1
        if node < 0 or token < 0:
            continue
        if nodes[node, AT] >= 0:
            following = nodes[node, AT] + length - depth
            if nodes[node, COUNT] > 0 and following < nodes[node, END] and text.ids[following] == token:
                met[length] = node
                met_depth[length] = depth
        else:
            child = child_of(text.nodes, text.slots, node, token)
            if child >= 0 and nodes[child, COUNT] > 0:
                met[length] = child
                met_depth[length] = depth + 1


@compiled
def _deepest(text: Text, last: int, length: int) -> int:
    """The deepest node on the way to the met string of *length* tokens that ends at *last*.

    It is not always the one that was met: that may have got children since.
    """
    node: int = text.met[length]
    depth = text.met_depth[length]
    while node >= 0 and depth < length and text.nodes[node, AT] < 0:
        node = child_of(text.nodes, text.slots, node, text.ids[last - length + 1 + depth])
        depth += 1
    text.met[length] = node
    text.met_depth[length] = depth
    return node


@compiled
def _search(text: Text, last: int, inside: int, matches: int, rules: Rules, drafts: Drafts) -> None:
    """Improve *drafts* by what followed the strings of *matches* .. 1 tokens that end at *last*.

    The longest *inside* tokens begin in the sequence being read, the others were met. The greatest sum of
    probabilities wins, the longest match of equals, and what *drafts* holds before any equal.
    """
    nodes = text.nodes
    for length in range(matches, 0, -1):
        after = -1
        if length <= inside:
            node = text.ending[length]
        else:
            node = _deepest(text, last, length)
            if node >= 0 and nodes[node, AT] >= 0:
                after = nodes[node, AT] + length - text.met_depth[length]
        if node < 0:
            continue
        likeliest = 1.0
        if after < 0:
            best = nodes[node, BEST]
            if best < 0:
                continue
            likeliest = nodes[best, COUNT] / nodes[node, COUNT]
        if likeliest >= rules.min_token_prob:
            limit = min(rules.limits[length - 1], len(text.ending) - length)
            # no token of a draft is likelier than its first, so a draft's sum stays below that times its length
            for which in range(len(rules.gammas)):
                if likeliest * (1 + 1e-9) * min(limit, rules.gammas[which]) > drafts.scores[which]:
                    _draft(text, node, after, last, limit, rules, drafts)
                    break


@compiled
def _draft(text: Text, node: int, after: int, last: int, limit: int, rules: Rules, drafts: Drafts) -> None:
    """Take the likeliest continuation of a string wherever it is better than what *drafts* holds."""
    drafted = _walk(text, node, after, last, min(limit, len(drafts.path)), rules.min_token_prob, drafts)
    for which in range(len(rules.gammas)):
        size = min(rules.gammas[which], drafted)
        if drafts.sums[size] > drafts.scores[which]:
            drafts.scores[which] = drafts.sums[size]
            drafts.lengths[which] = size
            for at in range(size):
                drafts.tokens[which, at] = drafts.path[at]


@compiled
def _walk(text: Text, node: int, after: int, last: int, most: int, least: float, drafts: Drafts) -> int:
    """The likeliest continuation of a string, while the product of its shares stays at *least* or above.

    *after* is where the string ends, if it occurred once, else -1.
    """
    nodes, length, probability = text.nodes, 0, 1.0
    while length < most:
        if after < 0:
            best = nodes[node, BEST]
            if best < 0:
                break
            probability = probability * nodes[best, COUNT] / nodes[node, COUNT]
            node, token, after = best, nodes[best, TOKEN], nodes[best, AT]
        else:
            after += 1
            if after >= nodes[node, END] or after > last or text.ids[after] < 0:
                break
            token = text.ids[after]
        if probability < least:
            break
        drafts.path[length] = token
        drafts.sums[length + 1] = drafts.sums[length] + probability
        length += 1
    return length
