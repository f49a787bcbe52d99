"""``simtool validate``: what a recording holds, what is missing, and what a replay will assume."""

from __future__ import annotations

from simtool import options as o


def command(
    traces: o.Paths,
    *,
    format_name: o.Format = None,
    skip_invalid: o.SkipInvalid = False,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Read recordings and say what was found. Run it first on a new recording."""
    from scenarios.recording import counted, metered
    from simtool.console import stdout_console, write_json
    from simtool.progress import progress
    from simtool.show_validate import print_summary
    from traces.readlog import ReadLog
    from traces.registry import read_files
    from traces.source import find_files
    from traces.summary import summarise

    log = ReadLog(skip_invalid=skip_invalid)
    with progress("sessions read", enabled=not no_progress) as count:
        files = metered(find_files(traces), count)
        summary = summarise(counted(read_files(files, log, format_name), count), log)
    if json is not None:
        write_json(summary, json)
    if json != "-":
        print_summary(stdout_console(), summary)
