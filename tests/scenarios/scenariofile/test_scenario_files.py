"""Scenario files: sections, precedence of what they extend, and errors with their line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import pytest

from scenarios.options.option import Section
from scenarios.options.settings import all_options, settings
from scenarios.scenariofile.document import read_document
from scenarios.scenariofile.load import Scenario, load_scenario, shipped
from scenarios.scenariofile.schema import schema
from scenarios.scenariofile.text import scenario_text
from traces.errors import SimtoolError, TraceError


def written(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refused(folder: Path, text: str, name: str = "mine.toml") -> TraceError:
    with pytest.raises(TraceError) as caught:
        load_scenario(str(written(folder, text, name)))
    return caught.value


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_scenario_is_valid_by_its_schema_and_gives_settings(name: str) -> None:
    folder = Path(__file__).parents[3] / "scenarios" / "scenariofile" / "shipped"
    document = read_document(folder / f"{name}.toml")
    jsonschema.validate(document.content, schema())
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.about
    assert scenario.settings().replay.platform.gpu in ("H200", "L40S", "H100-SXM")


def test_the_paper_platform_and_the_four_arms_are_shipped() -> None:
    assert {"paper-platform", "arm-a", "arm-b", "arm-c", "arm-d", "agent-loop-h200", "edge-split"} <= set(shipped())
    assert load_scenario("arm-b").traces == ("arm:B",)
    assert load_scenario("arm-b").values["draft_model"] == "Qwen3-4B"


def test_yaml_and_toml_say_the_same(tmp_path: Path) -> None:
    toml = written(tmp_path, '[engine]\ngpu = "L40S"\n[speculation]\ngamma = 4\neps = {S = 0.1, R = 0.4, F = 0.5}\n')
    yaml = written(
        tmp_path, "engine:\n  gpu: L40S\nspeculation:\n  gamma: 4\n  eps: {S: 0.1, R: 0.4, F: 0.5}\n", "mine.yaml"
    )
    first, second = load_scenario(str(toml)), load_scenario(str(yaml))
    assert first.values == second.values
    assert first.settings() == second.settings()
    assert first.settings().replay.acceptance.eps == {"S": 0.1, "R": 0.4, "F": 0.5}


def test_what_extends_goes_before_what_is_extended_key_by_key(tmp_path: Path) -> None:
    written(tmp_path, '[trace]\nfiles = "a"\n[engine]\ngpu = "L40S"\nmax_num_seqs = 7\n', "base.toml")
    path = written(tmp_path, 'extends = "base.toml"\n[engine]\nmax_num_seqs = 9\n')
    assert load_scenario(str(path)).values == {"gpu": "L40S", "max_num_seqs": 9}
    assert load_scenario(str(path)).traces == ("a",)


def test_files_named_in_a_scenario_are_found_beside_it(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "t.jsonl").write_text("{}")
    (inner / "p.json").write_text("{}")
    path = written(inner, '[trace]\nfiles = ["t.jsonl", "sample"]\n[speculation]\nprofile = "p.json"\n')
    scenario = load_scenario(str(path))
    assert scenario.traces == (str(inner / "t.jsonl"), "sample")
    assert scenario.values["profile"] == str(inner / "p.json")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[engine]\ngpuu = 1\n", 2, "did you mean 'gpu'"),
        ("[engin]\ngpu = 1\n", 1, "did you mean 'engine'"),
        ("[engine]\n\ngamma = 4\n", 3, "key of speculation"),
        ("[engine]\nmax_num_seqs = 'many'\n", 2, "whole number"),
        ("[engine]\nmax_num_seqs = 2.5\n", 2, "whole number"),
        ("[engine]\ncuda_graph_padding = 'yes'\n", 2, "true or false"),
        ("[speculation]\nkappa = -1\n", 2, "at least 0"),
        ("[speculation]\nrho_s = 2\n", 2, "within 0 and 1"),
        ("[workload]\ntool_waits = 'sometimes'\n", 2, "recorded, scaled, drawn"),
        ("[trace]\nfiles = 3\n", 2, "files is 3"),
        ("name = 3\n", 1, "give text"),
        ("engine = 3\n", 1, "give it keys"),
        ("extends = 'nowhere'\n", 1, "no scenario file"),
        ("[engine\n", 1, "is no TOML"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    error = refused(tmp_path, text)
    assert error.line == line
    assert says in str(error)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("engine:\n  gpu: H200\n  gpuu: 1\n", 3, "did you mean 'gpu'"),
        ("engine:\n  gpu: H200\n  gpu: L40S\n", 3, "stands twice"),
        ("engine: [\n", 2, "is no YAML"),
        ("- a\n", 1, "no table of sections"),
    ],
)
def test_a_fault_in_yaml_is_named_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    error = refused(tmp_path, text, "mine.yaml")
    assert error.line == line
    assert says in str(error)


def test_a_circle_of_extends_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 'extends = "b.toml"\n', "a.toml")
    error = refused(tmp_path, 'extends = "a.toml"\n', "b.toml")
    assert "circle" in str(error)


def test_an_unknown_name_says_which_is_near() -> None:
    with pytest.raises(SimtoolError, match="did you mean paper-platform"):
        load_scenario("paper-platfrom")


def test_a_resolved_configuration_is_a_scenario_file_again(tmp_path: Path) -> None:
    values = {key: one.default for key, one in all_options().items()} | {
        "goodput": ["ttft:500"],
        "gamma": "S=8,R=2,F=0",
    }
    path = written(tmp_path, scenario_text(values, {}, ["sample"]))
    again = load_scenario(str(path))
    assert again.settings() == settings(values)
    assert again.traces == ("sample",)


def test_every_option_has_one_key_one_section_and_help() -> None:
    options = all_options()
    fields = [(one.option.section, one.field_name) for one in options.values()]
    assert len(set(fields)) == len(options)
    assert all(one.option.help for one in options.values())
    properties = schema()["properties"]
    assert {key for section in Section for key in properties[section.key]["properties"]} == {*options, "files"}


def test_settings_refuse_unknown_keys_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'gamma'"):
        settings({"gama": 8})
    assert Scenario(name="x", values={"gamma": 4}).settings(gamma=2).replay.platform.num_speculative_tokens == 2


def test_toml_text_survives_awkward_names(tmp_path: Path) -> None:
    text = scenario_text({"model": 'a "b" \\ \u00e9'}, {})
    assert tomllib.loads(text)["engine"]["model"] == 'a "b" \\ \u00e9'


@pytest.mark.parametrize("name", shipped())
def test_shipped_scenarios_name_no_place_on_this_machine(name: str) -> None:
    assert not any(Path(one).is_absolute() or ".." in one for one in load_scenario(name).traces)
