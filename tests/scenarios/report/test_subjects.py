"""What a report can be made of, and what it says of anything else."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from scenarios.report.subjects import LawTruth, Runs, read_subject
from tests.scenarios.report.conftest import Checked, Made
from traces.errors import SimtoolError


def _copy(made: Made, folder: Path) -> Path:
    return Path(shutil.copytree(made.folder, folder / "copy"))


def test_a_folder_and_its_summary_are_the_same_answer(run: Made) -> None:
    folder = read_subject([str(run.folder)])
    alone = read_subject([str(run.folder / "summary.json")])
    assert isinstance(folder, Runs)
    assert folder.main.answer == alone.main.answer == run.asked.answer
    assert folder.main.tables is not None
    assert alone.main.tables is alone.main.details is None


def test_standard_input(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(checked.path.read_bytes())))
    subject = read_subject(["-"])
    assert isinstance(subject, LawTruth)
    assert subject.check == checked.check


def test_a_folder_that_is_no_run_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(SimtoolError, match=r"no run.*simtool replay TRACE -o DIR"):
        read_subject([str(tmp_path)])
    with pytest.raises(SimtoolError, match=r"no such file.*simtool replay TRACE -o DIR"):
        read_subject([str(tmp_path / "nothing")])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PAR1 no json", "not JSON"),
        (b"[1, 2]", "no result of simtool"),
        (b'{"schema_version": 99, "replay": {}}', "version 99"),
        (b'{"approximations": 3}', "not as this simtool writes it"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_other_files_are_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(SimtoolError, match=reason):
        read_subject([str(path)])


def test_a_result_with_a_missing_part_names_it(run: Made, tmp_path: Path) -> None:
    folder = _copy(run, tmp_path)
    document = json.loads((folder / "summary.json").read_bytes())
    del document["replay"]["cost"]
    (folder / "summary.json").write_text(json.dumps(document))
    with pytest.raises(SimtoolError, match="cost"):
        read_subject([str(folder)])


@pytest.mark.parametrize("name", ["turns.parquet", "details.json"])
def test_damaged_files_of_a_run_are_named(name: str, run: Made, tmp_path: Path) -> None:
    folder = _copy(run, tmp_path)
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    with pytest.raises(SimtoolError, match=name):
        read_subject([str(folder)])


def test_a_check_of_the_law_stands_alone(run: Made, checked: Checked) -> None:
    with pytest.raises(SimtoolError, match="alone"):
        read_subject([str(run.folder), str(checked.path)])
