"""What the tools of a request say about values: which are enums, which are typed, which keys may follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tokenclass.classes import SubClass

_ANY_OF = ("anyOf", "oneOf", "allOf")
_MAX_REF_DEPTH = 16
Json = Mapping[str, object]


class Shape:
    """What is known about one JSON value; this base knows nothing."""

    __slots__ = ()
    string_label = SubClass.T
    key_label = SubClass.K
    enum: tuple[str, ...] = ()
    """The strings allowed, if the schema lists them."""
    types: frozenset[str] = frozenset()
    """JSON types allowed; empty when not stated."""
    keys: tuple[str, ...] = ()
    """Keys an object may have; empty when open or not stated."""
    required: frozenset[str] = frozenset()
    known: bool = False
    """Whether a schema stands behind this shape."""

    def child(self, key: str, so_far: Json) -> Shape:
        """The shape of the value under *key*; *so_far* holds the members read before it."""
        del key, so_far
        return ANY

    def item(self) -> Shape:
        """The shape of a list's items."""
        return ANY


ANY = Shape()
"""The shape of a value nothing is known about."""


class StringShape(Shape):
    """A string of a fixed role, such as a tool name or a call id."""

    __slots__ = ("enum", "string_label", "types")

    def __init__(self, label: SubClass, enum: tuple[str, ...] = ()) -> None:
        self.string_label = label
        self.enum = enum
        self.types = frozenset({"string"})


class SchemaShape(Shape):
    """The shape a JSON Schema node gives to a value; `$ref` is followed within the same schema."""

    __slots__ = ("_children", "_items", "_node", "_root", "enum", "keys", "required", "string_label", "types")
    known = True

    def __init__(self, node: Json, root: Json) -> None:
        self._root = root
        self._node = node = _resolve(node, root)
        branches = [node, *_branches(node, root)]
        self.enum = tuple(dict.fromkeys(word for branch in branches for word in _enum_of(branch)))
        self.types = frozenset(kind for branch in branches for kind in _types_of(branch))
        self.string_label = SubClass.V if self.enum else SubClass.T
        self.keys = tuple(dict.fromkeys(key for branch in branches for key in _properties(branch)))
        required = node.get("required")
        self.required = frozenset(r for r in required if r in self.keys) if isinstance(required, list) else frozenset()
        self._children: dict[str, Shape] = {}
        self._items: Shape | None = None

    def child(self, key: str, so_far: Json) -> Shape:
        """The shape of the value under *key*."""
        del so_far
        shape = self._children.get(key)
        if shape is None:
            shape = ANY
            for branch in (self._node, *_branches(self._node, self._root)):
                node = _properties(branch).get(key, branch.get("additionalProperties"))
                if isinstance(node, Mapping):
                    shape = SchemaShape(node, self._root)
                    break
            self._children[key] = shape
        return shape

    def item(self) -> Shape:
        """The shape of a list's items."""
        if self._items is None:
            self._items = ANY
            for branch in (self._node, *_branches(self._node, self._root)):
                node = branch.get("items")
                if isinstance(node, Mapping):
                    self._items = SchemaShape(node, self._root)
                    break
        return self._items


class Tools:
    """The tools offered to the model, by name.

    Accepts the compact form (`name`, `parameters`), the OpenAI form (`type`, `function`) and the Anthropic form
    (`name`, `input_schema`). An empty list counts as not given.
    """

    __slots__ = ("_schemas", "_shapes", "choice", "names")

    def __init__(self, tools: Iterable[Json] | None = None, choice: str | None = None) -> None:
        self.choice = choice
        """The tool that the request forced, if any."""
        self._schemas: dict[str, Json] = {}
        for tool in tools or ():
            inner = tool.get("function")
            spec: Json = inner if isinstance(inner, Mapping) else tool
            name = spec.get("name")
            if not isinstance(name, str):
                raise ValueError(f"tool without a name: {dict(tool)!r}; each tool needs a `name` string")
            schema = spec.get("parameters", spec.get("input_schema"))
            self._schemas[name] = schema if isinstance(schema, Mapping) else {}
        self.names: tuple[str, ...] = tuple(self._schemas)
        self._shapes: dict[str, Shape] = {}

    @property
    def given(self) -> bool:
        """Whether any tool is known."""
        return bool(self._schemas)

    def allows(self, name: object) -> bool:
        """Whether *name* may be called: any string when no tools were given."""
        return isinstance(name, str) and bool(name) and (not self._schemas or name in self._schemas)

    def shape(self, name: object) -> Shape:
        """The shape of the argument object of tool *name*; unknown names give an open shape."""
        if not isinstance(name, str) or name not in self._schemas:
            return ANY
        if name not in self._shapes:
            schema = self._schemas[name]
            self._shapes[name] = SchemaShape(schema, schema)
        return self._shapes[name]

    def infer(self, keys: Sequence[str]) -> str | None:
        """The tool whose parameters cover *keys*: the one with the fewest others; None when none does."""
        if self.choice is not None:
            return self.choice
        best: tuple[int, str] | None = None
        for name in self.names:
            known = self.shape(name).keys
            if set(keys) <= set(known) and (best is None or len(known) < best[0]):
                best = (len(known), name)
        return best[1] if best else None


def _resolve(node: Json, root: Json) -> Json:
    for _ in range(_MAX_REF_DEPTH):
        ref = node.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#/"):
            return node
        target: object = root
        for part in ref[2:].split("/"):
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            return {}
        node = target
    return {}


def _branches(node: Json, root: Json) -> list[Json]:
    found: list[Json] = []
    for word in _ANY_OF:
        options = node.get(word)
        if isinstance(options, list):
            found.extend(_resolve(option, root) for option in options if isinstance(option, Mapping))
    return found


def _enum_of(node: Json) -> list[str]:
    values = node.get("enum")
    words = list(values) if isinstance(values, list) else []
    if "const" in node:
        words.append(node["const"])
    return [word for word in words if isinstance(word, str)]


def _types_of(node: Json) -> list[str]:
    kind = node.get("type")
    if isinstance(kind, str):
        return [kind]
    if isinstance(kind, list):
        return [k for k in kind if isinstance(k, str)]
    return ["string"] if _enum_of(node) else []


def _properties(node: Json) -> Json:
    properties = node.get("properties")
    return properties if isinstance(properties, Mapping) else {}
