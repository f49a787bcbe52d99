"""An output format as a user declares one."""

from __future__ import annotations

DECLARED = """
name = "acme"

[calls]
kind = "xml"
section = ["<acme:calls>"]
section_close = ["</acme:calls>"]
call = { open = "<call name=", close = "</call>" }
parameter = { open = "<arg name=", close = "</arg>" }

[reasoning]
openers = ["<acme:think>"]
closers = ["</acme:think>"]
"""
