"""A family: one way in which models write reasoning, prose and tool calls into a completion."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tokenclass.formats.channels import Channels
from tokenclass.formats.grammar import Grammar
from tokenclass.formats.reasoning import Reasoning


class Api(StrEnum):
    """APIs whose recorded blocks, not their text, say what is what."""

    ANTHROPIC_MESSAGES = "anthropic_messages"
    OPENAI_CHAT = "openai_chat"
    OPENAI_RESPONSES = "openai_responses"


class ReasoningEnd(StrEnum):
    """What ends an open reasoning block."""

    STRICT = "strict"
    """Its end tag; a tool call ends it only if no end tag follows. A draft call before the end tag is reasoning."""
    TOOL_TOKEN = "tool-token"  # noqa: S105 - not a secret
    """Its end tag or the first tool call, whichever comes first."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Declaration of an output format. Exactly one of *calls*, *channels* and *api* describes the calls, or none."""

    name: str
    calls: Grammar | None = None
    """Grammar of the calls in running text; None: the model calls no tools."""
    reasoning: Reasoning | None = Reasoning()
    """Tags of the reasoning; None: the family has none."""
    channels: Channels | None = None
    """Message headers, for families that put everything into channels."""
    api: Api | None = None
    calls_in_reasoning: bool = False
    """Whether a call may stand inside a reasoning block, which goes on behind it."""
    glued: tuple[str, ...] = ()
    """Literals that keep the blanks they begin with, where blanks else belong to the segment before."""
    aliases: tuple[str, ...] = ()
    """Other names, such as those of server parsers."""
