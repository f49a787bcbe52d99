"""Session ids that name one session each, also where files, or records of one, use the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from traces.model import Session
from traces.readlog import ReadLog


def distinct_ids(sessions: Iterable[Session], log: ReadLog) -> Iterator[Session]:
    """Yield *sessions*, those whose id was there before with a number behind it.

    A sub-agent's link goes to the last session before it that bore the id in its recording.
    """
    taken: set[str] = set()
    repeats: Counter[str] = Counter()
    last: dict[str, str] = {}
    for session in sessions:
        name = session.id
        while name in taken:
            repeats[session.id] += 1
            name = f"{session.id}#{repeats[session.id] + 1}"
        taken.add(name)
        if name != session.id:
            log.assume("sessions of equal id: told apart by a number")
            last[session.id] = name
        link = session.parent
        if link is not None and link.session_id in last:
            link = replace(link, session_id=last[link.session_id])
        same = name is session.id and link is session.parent
        yield session if same else replace(session, id=name, parent=link)
