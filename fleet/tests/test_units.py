"""Tests of functions that need neither an engine nor `hprof`."""

import json
import re
import sys
from pathlib import Path

import pytest

from hprof_fleet import show
from hprof_fleet.binary import Hprof
from hprof_fleet.changes import Change, Costs, changes, scaled
from hprof_fleet.samples import Reading


def test_what_has_grown_and_shrunk_most_comes_first():
    base = [("a", 10, 10), ("b", 50, 60), ("same", 7, 7)]
    new = [("b", 20, 60), ("c", 25, 25), ("same", 7, 7)]
    assert changes(base, new, (1, 1), total=False) == [
        Change("b", Costs(50, 60), Costs(20, 60)),
        Change("c", None, Costs(25, 25)),
        Change("a", Costs(10, 10), None),
    ]
    assert [change.name for change in changes(base, new, (1, 1), total=True)] == ["c", "a"]


def test_scaling_goes_to_the_nearest_whole():
    assert [scaled(value, (1, 2)) for value in (0, 1, 2, 3)] == [0, 1, 1, 2]
    assert scaled(2**62 + 1, (3, 3)) == 2**62 + 1
    assert scaled(5, (7, 0)) == 5


def test_numbers_look_as_in_hprof():
    assert show.with_unit(1_500_000, "nanoseconds") == "1.500 ms"
    assert show.number(-1_000_001, "nanoseconds", "+") == "-1.000"
    times = {0: "0", 42: "0.000042", 18_730: "0.01873", 9_999_600: "10.000"}
    times |= {187_350_000: "187.4", 1_873_000_000: "1873"}
    assert {nanos: show.number(nanos, "nanoseconds") for nanos in times} == times
    assert show.number(3, "count", "+") == "+3"
    assert show.number(0, "count", "+") == "0"
    assert [show.relative(0, 5), show.relative(0, 0), show.relative(4, 5)] == ["new", "0.00%", "+25.00%"]


def test_a_name_cannot_command_the_terminal():
    assert show.printable("a\x1b[31mb\u202ec\n") == "a?[31mb?c?"


@pytest.mark.parametrize(
    ("name", "host"), [("s3a://b/web-7/1.hprof", "web-7"), ("/web-12-1.hprof", "web-12"), ("x", None)]
)
def test_the_host_is_read_from_the_name_of_the_file(name, host):
    assert Reading(Hprof("hprof"), re.compile(r"(web-\d+)")).host_of(name) == host


@pytest.fixture
def recorded(tmp_path):
    """An `hprof` that writes down its arguments."""
    command = tmp_path / "hprof"
    said = tmp_path / "said"
    command.write_text(f"#!{sys.executable}\nimport json, sys\njson.dump(sys.argv[1:], open({str(said)!r}, 'w'))\n")
    command.chmod(0o700)
    return Hprof(str(command)), lambda: json.loads(said.read_text())


@pytest.mark.parametrize("name", ["--label=host=EVIL.hprof", "-x", "--"])
def test_a_file_of_any_name_is_no_option(recorded, name):
    hprof, said = recorded
    file = Path(name)
    calls = [
        lambda: hprof.export(file, Path("-o")),
        lambda: hprof.merge([file, file], Path("-o"), "--x"),
        lambda: hprof.flame(file, Path("-o"), []),
    ]
    for call in calls:
        call()
        options, files = said()[1 : said().index("--")], said()[said().index("--") + 1 :]
        assert all(option.startswith("--") and "=" in option for option in options)
        assert "--output=-o" in options
        assert set(files) == {name}


def test_a_file_that_is_called_like_the_standard_input_is_a_file(recorded):
    hprof, said = recorded
    hprof.export(Path("-"), Path("out"))
    assert said()[-1] == "./-"
