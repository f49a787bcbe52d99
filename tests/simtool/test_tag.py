"""The tag command: tables, one turn's text, files and exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import pytest

from tests.shared import AGENT_LOOP
from tests.simtool.run import Ran, simtool
from tests.tokenclass.sessions import one_turn
from traces.model import ReasoningBlock, Session, TextBlock, ToolCallBlock
from traces.safetext import safe, safe_line

SAMPLE = str(AGENT_LOOP)
HOSTILE = "a\x1b[31mb\x07\r\x9bc\u202ed\u2028e"
Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return lambda *args: simtool(capsys, monkeypatch, "tag", *args)


def _trace(path: Path, *sessions: Session) -> str:
    path.write_bytes(b"\n".join([b'{"simtool_trace":1}', *map(msgspec.json.encode, sessions)]) + b"\n")
    return str(path)


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_first_line_is_the_answer(cli: Cli) -> None:
    ran = cli(SAMPLE, "--quiet")
    assert ran.code == 0
    assert re.fullmatch(
        r"S \d+\.\d %, R \d+\.\d %, F \d+\.\d % of [\d,]+ output tokens; mean spans S \d+, R \d+, F \d+ tokens\n",
        ran.out,
    )
    assert cli(SAMPLE).out.startswith(ran.out)


@pytest.mark.parametrize("by", ["session", "agent", "tool"])
@pytest.mark.parametrize("width", [60, 80, 140])
def test_tables_keep_to_the_width(cli: Cli, monkeypatch: pytest.MonkeyPatch, by: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = cli(SAMPLE, "--by", by, "--top", "3")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= width
    assert "run_shell.command" in ran.out
    assert "Assumed:" in ran.out


def test_json_on_standard_output_is_all_there_is(cli: Cli) -> None:
    ran = cli(SAMPLE, "--json", "-", "--by", "session")
    document = json.loads(ran.out)
    assert len(document["sessions"]) == 11
    assert json.loads(cli(SAMPLE, "--json", "-").out) == document | {"sessions": None}


def test_json_fits_the_published_schema(cli: Cli, capsys, monkeypatch) -> None:
    schema = json.loads(simtool(capsys, monkeypatch, "schema", "tag").out)
    jsonschema.Draft202012Validator(schema).validate(json.loads(cli(SAMPLE, "--json", "-", "--by", "session").out))


def test_files_do_not_depend_on_the_processes(cli: Cli, tmp_path: Path) -> None:
    written = []
    for jobs in ("1", "2"):
        folder = tmp_path / jobs
        folder.mkdir()
        files = folder / "tags.json", folder / "spans.parquet"
        assert cli(SAMPLE, "--jobs", jobs, "--json", str(files[0]), "--parquet", str(files[1])).code == 0
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]


def test_a_turn_off_a_terminal_has_markers(cli: Cli) -> None:
    ran = cli(SAMPLE, "--show", "1/1")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert '[S:K command][S:P ": "][S:T sed -n' in ran.out
    assert "[R <think>" in ran.out
    assert "legend:" in ran.out


def test_a_turn_on_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = cli(SAMPLE, "--show", "1/1")
    assert "\x1b[" in ran.out
    assert max(len(_plain(line)) for line in ran.out.splitlines()) <= 60
    assert "[S:K" not in ran.out
    turn = json.loads(AGENT_LOOP.read_text().splitlines()[1])["turns"][0]
    squeezed = "".join(_plain(ran.out).split())
    for block in turn["attempts"][-1]["output"]:
        assert "".join((block.get("text") or block.get("arguments")).split()) in squeezed
    monkeypatch.setenv("NO_COLOR", "1")
    assert "[S:K command]" in "".join(_plain(cli(SAMPLE, "--show", "1/1").out).splitlines())


def test_rejected_attempts_are_shown_apart(cli: Cli) -> None:
    lines = [json.loads(line) for line in AGENT_LOOP.read_text().splitlines()[1:]]
    session, turn = next(
        (session["id"], turn["id"]) for session in lines for turn in session["turns"] if len(turn["attempts"]) > 1
    )
    out = cli(SAMPLE, "--show", f"{session}/{turn}").out
    assert re.search(r"attempt 1 of 2, rejected: \d+ tokens", out)
    assert re.search(r"attempt 2 of 2: \d+ tokens", out)


def test_hidden_tokens_are_named(cli: Cli, tmp_path: Path) -> None:
    path = _trace(tmp_path / "t.jsonl", one_turn(ReasoningBlock(tokens=312), TextBlock(text="Done.")))
    assert "[R: 312 hidden tokens]" in cli(path, "--show", "s/t0").out


def test_a_recording_cannot_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    call = ToolCallBlock(name=f"[red]{HOSTILE}", arguments=json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False))
    session = msgspec.structs.replace(one_turn(TextBlock(text=HOSTILE + "[S:D x]"), call), id=HOSTILE, agent=HOSTILE)
    path = _trace(tmp_path / "t.jsonl", session)
    runs = [
        cli(path, "--by", "session"),
        cli(path, "--by", "agent"),
        cli(path, "--show", "1/1"),
        cli(path, "--show", "1/2"),
    ]
    for ran in runs:
        assert not set("\x1b\x07\r\x9b\u202e\u2028") & set(ran.out + ran.err)
    assert [ran.code for ran in runs] == [0, 0, 0, 2]
    assert "a\\x1b[31mb\\x07\\r\\x9bc\\u202ed\\u2028e" in runs[2].out
    assert "\\[S:D x]" in runs[2].out
    assert "[red]a\\x1b" in runs[0].out


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((SAMPLE, "--show", "1/99"), 2),
        ((SAMPLE, "--show", "1/1", "--json", "-"), 2),
        ((SAMPLE, "--by", "colour"), 2),
        ((SAMPLE, "--jobs", "0"), 2),
        (("no-such-file.jsonl",), 3),
        ((SAMPLE, "--tokenizer", "nonesuch"), 3),
        ((SAMPLE, "--class-mix", "S=2"), 3),
    ],
)
def test_exit_codes(cli: Cli, args: tuple[str, ...], code: int) -> None:
    ran = cli(*args)
    assert ran.code == code
    assert ran.out == ""
    assert ran.err


def test_safe_text() -> None:
    assert safe("plain ä 漢 👩‍👩‍👧\n\t") == "plain ä 漢 👩‍👩‍👧\n\t"
    assert safe("\x00\x7f\u200b\u2066\ud800") == "\\x00\\x7f\\u200b\\u2066\\ud800"
    assert safe_line("a\nb\tc") == "a\\nb\\tc"
