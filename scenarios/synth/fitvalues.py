"""Fits the distribution of JSON values: kinds, lengths, keys, listed values."""

from __future__ import annotations

import json
import re
from collections import Counter

from scenarios.synth.empirical import Choice, Empirical
from scenarios.synth.model import Member, ValueModel
from scenarios.synth.words import Vocabulary
from tokenclass.formats.schema import Shape
from tokenclass.tokenizers import Tokenizer

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]{0,39}")
_MAX_DEPTH = 6
_OTHER_KEY = "other"


class ValueFit:
    """Gathers the values seen at one place of a tool's arguments."""

    def __init__(self, tokenizer: Tokenizer, shape: Shape, depth: int = 0) -> None:
        self._tokenizer = tokenizer
        self._shape = shape
        self._depth = depth
        self._kinds: Counter[str] = Counter()
        self._styles: Counter[str] = Counter()
        self._enum: Counter[str] = Counter()
        self._string_tokens: list[int] = []
        self._digits: list[int] = []
        self._items: list[int] = []
        self._item: ValueFit | None = None
        self._members: dict[str, ValueFit] = {}
        self._member_counts: Counter[str] = Counter()

    def add(self, value: object) -> None:
        """Count *value*."""
        kind = _kind(value)
        if kind in ("array", "object") and self._depth >= _MAX_DEPTH:
            kind = "null"
        self._kinds[kind] += 1
        if isinstance(value, str):
            self._add_string(value)
        elif kind in ("integer", "number"):
            self._digits.append(len(str(value).lstrip("-").replace(".", "")))
        elif isinstance(value, list) and kind == "array":
            self._items.append(len(value))
            for one in value:
                self._item = self._item or ValueFit(self._tokenizer, self._shape.item(), self._depth + 1)
                self._item.add(one)
        elif isinstance(value, dict) and kind == "object":
            self._add_object(value)

    def model(self, vocabulary: Vocabulary) -> ValueModel:
        """The distribution of what was added."""
        counts = self._kinds or Counter({"null": 1})
        objects = max(1, counts["object"])
        enum = None
        if self._enum:
            stand_ins: Counter[str] = Counter()
            for text, count in self._enum.items():
                stand_ins[vocabulary.stand_in(text)] += count
            enum = Choice.of(dict(sorted(stand_ins.items())))
        return ValueModel(
            kinds=Choice.of(dict(sorted(counts.items()))),
            string_tokens=Empirical.of(self._string_tokens),
            styles=Choice.of(dict(sorted(self._styles.items()))) if self._styles else None,
            enum=enum,
            digits=Empirical.of(self._digits),
            items=Empirical.of(self._items),
            item=self._item.model(vocabulary) if self._item is not None else None,
            members=tuple(
                Member(key=key, share=self._member_counts[key] / objects, value=fit.model(vocabulary))
                for key, fit in self._members.items()
            ),
        )

    def _add_string(self, text: str) -> None:
        if text in self._shape.enum:
            self._enum[text] += 1
            return
        self._string_tokens.append(len(self._tokenizer.encode(json.dumps(text, ensure_ascii=False)[1:-1])))
        spaced = any(map(str.isspace, text))
        self._styles["words" if spaced else "path" if "/" in text or "." in text else "identifier"] += 1

    def _add_object(self, members: dict[str, object]) -> None:
        so_far: dict[str, object] = {}
        for key, one in members.items():
            known = key in self._shape.keys or _PLAIN_KEY.fullmatch(key) is not None
            name = key if known else _OTHER_KEY
            if name not in self._members:
                self._members[name] = ValueFit(self._tokenizer, self._shape.child(key, so_far), self._depth + 1)
            self._members[name].add(one)
            self._member_counts[name] += 1
            so_far[key] = one


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    kinds: tuple[tuple[type, str], ...] = (
        (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"),
    )  # fmt: skip
    return next(name for kind, name in kinds if isinstance(value, kind))
