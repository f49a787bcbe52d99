"""Where the shared reference material lies, and what a test does when it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
TRACES = SHARED / "traces"
AGENT_LOOP = Path(__file__).resolve().parents[1] / "traces" / "agent_loop.jsonl"


def require_shared() -> None:
    """Skip the calling module's tests without the material; fail instead under CI=true."""
    if SHARED.is_dir():
        return
    if os.environ.get("CI") == "true":
        pytest.fail("the shared reference material is missing beside the checkout", pytrace=False)
    pytest.skip("needs the shared reference material", allow_module_level=True)
