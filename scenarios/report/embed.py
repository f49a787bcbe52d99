"""Puts data and scripts into a page so that nothing in them can end an element or start one."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec
from markupsafe import Markup

_IN_JSON = {
    "&": "\\u0026",
    "<": "\\u003c",
    ">": "\\u003e",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def json_in_html(value: Any) -> Markup:
    """*value* as JSON for a ``<script type="application/json">``: no character in it means anything to HTML."""
    text = msgspec.json.encode(value).decode()
    for char, escape in _IN_JSON.items():
        text = text.replace(char, escape)
    return Markup(text)  # noqa: S704  escaped above


def script_in_html(source: str) -> Markup:
    """*source*, which is this package's own, for a ``<script>``: what would end the element is split."""
    return Markup(source.replace("</script", "<\\/script").replace("<!--", "<\\!--"))  # noqa: S704


def script_hash(source: Markup) -> str:
    """What a content security policy names *source* by, as it stands in the page."""
    digest = hashlib.sha256(str(source).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
