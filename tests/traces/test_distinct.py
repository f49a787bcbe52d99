from __future__ import annotations

from msgspec.structs import replace

from tests.tokenclass.sessions import one_turn
from traces.distinct import distinct_ids
from traces.model import Session, SpawnLink, TextBlock
from traces.readlog import ReadLog


def session(name: str, parent: str | None = None) -> Session:
    link = SpawnLink(session_id=parent, turn_id="t0") if parent is not None else None
    return replace(one_turn(TextBlock(text="Yes.")), id=name, parent=link)


def test_ids_that_repeat_are_numbered_and_links_follow() -> None:
    log = ReadLog()
    given = [session("a"), session("kid", "a"), session("a#2"), session("a"), session("kid", "a"), session("b", "a#2")]
    found = list(distinct_ids(given, log))
    assert [one.id for one in found] == ["a", "kid", "a#2", "a#3", "kid#2", "b"]
    parents = [one.parent.session_id if one.parent is not None else None for one in found]
    assert parents == [None, "a", None, None, "a#3", "a#2"]
    assert list(log.assumptions.values()) == [2]


def test_ids_that_do_not_repeat_stay() -> None:
    given = [session("a"), session("b", "a")]
    assert list(distinct_ids(given, ReadLog())) == given
