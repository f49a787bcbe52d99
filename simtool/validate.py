"""``simtool validate``: what a recording holds, what is missing, and what a replay will assume."""

from __future__ import annotations

from scenarios.options.settings import Settings
from simtool import options as o
from simtool.bind import with_settings


@with_settings(only_reading=True)
def command(
    traces: o.Paths,
    *,
    settings: Settings,
    json: o.Json = None,
    no_progress: o.NoProgress = False,
) -> None:
    """Read recordings and say what was found. Run it first on a new recording."""
    from scenarios.recordings.recording import counted, metered, read_log
    from simtool.console import stdout_console, write_json
    from simtool.progress import progress
    from simtool.show_validate import print_summary
    from traces.registry import read_files
    from traces.source import find_files
    from traces.summary import summarise

    log = read_log(settings.read)
    with progress("sessions read", enabled=not no_progress) as count:
        files = metered(find_files(traces), count)
        summary = summarise(counted(read_files(files, log, settings.read.format_name), count), log)
    if json is not None:
        write_json(summary, json)
    if json != "-":
        print_summary(stdout_console(), summary)
