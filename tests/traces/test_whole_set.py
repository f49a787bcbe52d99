"""Files that appear as a set: all of them, or what was there before."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.atomic import whole_set
from traces.errors import SimtoolError

NAMES = ("a", "b", "last")


def _write(folder: Path, **texts: str) -> None:
    with whole_set(folder, NAMES) as partial:
        for name, text in texts.items():
            (partial / name).write_text(text)


def _held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_set_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    _write(folder, a="1", b="2", last="3")
    assert _held(folder) == {"a": "1", "b": "2", "last": "3"}
    (folder / "notes").write_text("mine")
    _write(folder, b="5", last="6")
    assert _held(folder) == {"b": "5", "last": "6", "notes": "mine"}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_a_set_that_is_not_finished_leaves_the_folder_as_it_was(tmp_path: Path, stop: type[BaseException]) -> None:
    kept, new = tmp_path / "kept", tmp_path / "new"
    _write(kept, a="1", last="3")
    for folder in (kept, new):
        with pytest.raises(stop), whole_set(folder, NAMES) as partial:  # noqa: PT012
            (partial / "a").write_text("half")
            raise stop
    assert _held(kept) == {"a": "1", "last": "3"}
    assert not new.exists()


def test_an_interruption_while_files_move_waits_until_all_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    _write(folder, a="1", b="2", last="3")
    plain, interrupted = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        found = plain(self, target)
        if not interrupted:
            interrupted.append(target.name)
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        _write(folder, a="4", b="5", last="6")
    assert interrupted == ["a"]
    assert _held(folder) == {"a": "4", "b": "5", "last": "6"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SimtoolError, match=r"cannot write to .*file"):
        _write(tmp_path / "file", a="1")
