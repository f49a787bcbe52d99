from __future__ import annotations

import pytest

from tests.shared import require_shared


@pytest.fixture(autouse=True)
def _material() -> None:
    require_shared()
