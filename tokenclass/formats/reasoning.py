"""Reasoning tags of a family, and what the end of the prompt says about them."""

from __future__ import annotations

import re

import msgspec


class Reasoning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tags around reasoning. Any of the closers ends what any of the openers began."""

    openers: tuple[str, ...] = ("<think>",)
    closers: tuple[str, ...] = ("</think>",)
    anywhere: bool = False
    """Whether an opener is a special token that prose cannot quote; else it opens at a line's start only."""
    start_only: bool = False
    """Whether an opener counts at the start of the text only (plain words)."""
    implied: bool = True
    """Whether a closer alone, after an unknown prompt, shows that the prompt opened the reasoning."""
    suffix: bool = False
    """Whether tags may carry a `:suffix` before their last character."""
    always: bool = False
    """Whether the template always opens reasoning in the prompt, so an unknown prompt means open."""
    disproof: str = ""
    """Literal that, coming before any closer, shows that the reasoning was not open after all."""

    def opener_pattern(self) -> str:
        """Regular expression of an opener."""
        return self._pattern(self.openers)

    def closer_pattern(self) -> str:
        """Regular expression of a closer."""
        return self._pattern(self.closers)

    def _pattern(self, tags: tuple[str, ...]) -> str:
        ordered = sorted(tags, key=len, reverse=True)
        if not self.suffix:
            return "|".join(map(re.escape, ordered))
        return "|".join(re.escape(tag[:-1]) + r"(?::[^<>\s]+)?" + re.escape(tag[-1]) for tag in ordered)

    def partial(self, tail: str) -> bool:
        """Whether *tail*, standing at the end of a text, may be the beginning of a tag."""
        for tag in (*self.openers, *self.closers):
            if tag != tail and tag.startswith(tail):
                return True
            if self.suffix and re.fullmatch(re.escape(tag[:-1]) + r":[^<>\s]*", tail):
                return True
        return False

    def open_after(self, prompt_tail: str) -> bool:
        """Whether the text that follows *prompt_tail* begins inside the reasoning."""
        if not prompt_tail:
            return self.always
        return _last(self.opener_pattern(), prompt_tail) > _last(self.closer_pattern(), prompt_tail)


def _last(pattern: str, text: str) -> int:
    return max((found.start() for found in re.finditer(pattern, text)), default=-1)
