"""Which turn of its session each turn waits for."""

from __future__ import annotations

from traces.errors import SimtoolError
from traces.model import Session


def parent_places(session: Session) -> list[int | None]:
    """Place in *session* of the turn that each turn waits for; None: for nothing but the session's start.

    Raises SimtoolError for a parent that is no turn of the session.
    """
    places: dict[str | None, int | None] = {turn.id: place for place, turn in enumerate(session.turns)}
    places[None] = None
    for turn in session.turns:
        if turn.parent not in places:
            raise SimtoolError(
                f"session {session.id}: turn {turn.id} waits for {turn.parent!r}, which is no turn of the "
                "session (correct the trace, or leave the session out)"
            )
    return [places[turn.parent] for turn in session.turns]
