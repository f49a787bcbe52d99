"""``python -m simtool``."""

from __future__ import annotations

from simtool.main import main

main()
