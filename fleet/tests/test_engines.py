"""DuckDB, Spark and `hprof merge` give the same rows."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile

import pyarrow.parquet as pq
import pytest
from profiles import HOUR, fleet

from hprof_fleet import cli
from hprof_fleet.binary import Hprof
from hprof_fleet.open_engine import open_engine
from hprof_fleet.samples import Reading

HPROF = shutil.which(os.environ.get("HPROF_CLI", "hprof"))
ENGINES = [name for name, module in (("duckdb", "duckdb"), ("spark", "pyspark")) if importlib.util.find_spec(module)]
EVERY = 10

pytestmark = pytest.mark.skipif(HPROF is None, reason="there is no `hprof`: $HPROF_CLI names none")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    fleet(folder, EVERY)
    return folder


@pytest.fixture(scope="module")
def merged(folder):
    output = folder / "of-hprof"
    subprocess.run([HPROF, "merge", "-o", output, *sorted(folder.glob("*.hprof"))], check=True)
    return output


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    # One that stays open, so that Spark starts once.
    opened = open_engine(request.param, Reading(Hprof.find(HPROF)), {"spark.master": "local[2]"})
    yield ["--engine", request.param, "--hprof", HPROF]
    opened.close()


# The names that hprof has for rows without a stack, which are `<empty>` in the files, and here.
WITHOUT_STACK = ("<made before the profile>", "<no Java frames>", "<no stacks, depth=0>")


def comparable(found):
    """An answer without what only hprof can say, and with one name for rows without a stack.

    That are the remarks, and what the numbers rest on: the tables do not tell whether allocations were estimated.
    """
    rows = found["rows"] if "rows" in found else found["changes"]
    for row in rows:
        if row["name"] in WITHOUT_STACK:
            row["name"] = "<empty>"
    # Rows of equal cost are in the order of their names.
    rows.sort(key=lambda row: row["name"] == "<empty>")
    return {key: value for key, value in found.items() if key not in ("basis", "remarks")}


def hprof(*arguments):
    return subprocess.run([HPROF, *arguments], check=True, capture_output=True, text=True).stdout


def answer(capsys, *arguments):
    assert cli.main([str(argument) for argument in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def same_as_top(folder, merged, engine, capsys, *options):
    got = answer(capsys, "top", f"{folder}/*.hprof", *engine, "-n", "0", "--json", *options)
    assert comparable(got) == comparable(json.loads(hprof("top", merged, "-n", "0", "--json", *options)))
    return got


def test_costs_are_those_of_hprof_top(folder, merged, engine, capsys):
    for by in ("method", "class", "package", "thread"):
        same_as_top(folder, merged, engine, capsys, "--by", by)
    same_as_top(folder, merged, engine, capsys, "--total")
    for value in ("alloc-bytes", "live-objects"):
        same_as_top(folder, merged, engine, capsys, "--by", "type", "--value", value)
    rows = same_as_top(folder, merged, engine, capsys, "--filter", "spin")["rows"]
    # 100 + ... + 109 in one stack and 10 x 10 in another, which has the method twice but counts once.
    assert rows == [{"name": "app.Hot.spin", "self": 1145, "total": 1145}]


NATIVE = """JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

--------
TRACE 1:
\tapp.Buffers.grow(Buffers.java:9)
\tapp.Main.main(Main.java:5)
TRACE 2:
\tapp.Main.main(Main.java:6)
NATIVE SITES BEGIN (live = 1500 in 15 +- 400, old = 1200 in 12 +- 350, allocated = 9000 in 90 +- 900, age = 10 s, \
interval = 512 bytes) Fri Nov 20 10:39:12 2026
          percent                       live                old            allocated
rank   self  accum      bytes blocks      +-      bytes blocks      bytes  blocks trace method
   1 93.33% 93.33%       1400     14     400       1200     12       8000      80     1 app.Buffers.grow
   2 6.67% 100.00%        100      1      90          0      0       1000      10     2 app.Main.main
NATIVE SITES END
"""


def test_native_memory_is_that_of_hprof_top(engine, capsys, tmp_path):
    for line in (5, 6):
        (tmp_path / f"{line}.hprof").write_text(NATIVE.replace("Main.java:5", f"Main.java:{line}"))
    both = tmp_path / "both"
    subprocess.run([HPROF, "merge", "-o", both, *sorted(tmp_path.glob("*.hprof"))], check=True)
    for value, total in (("native-live-bytes", 3000), ("native-old-blocks", 24), ("native-bytes", 18_000)):
        got = same_as_top(tmp_path, both, engine, capsys, "--value", value)
        assert got["total"] == total


def test_the_sums_by_stack_are_those_of_hprof_merge(folder, merged, engine, capsys, tmp_path):
    output, parquet = tmp_path / "merged.hprof", tmp_path / "merged.parquet"
    arguments = ["merge", f"{folder}/*.hprof", "-o", output, "--parquet", parquet, *engine]
    assert cli.main([*map(str, arguments), "--host", "(web-[0-9]+)"]) == 0
    written = [parquet, *parquet.glob("**/*.parquet")]
    assert [path for path in (output, *written) if path.stat().st_mode & 0o077] == []
    rows = pq.read_table(parquet).to_pylist()
    stacks = {}
    for row in rows:
        assert row["period_ms"] % HOUR == 0
        stacks[row["stack"]] = stacks.get(row["stack"], 0) + (row["samples"] or 0)
    collapsed = hprof("export", "--to", "collapsed", merged)
    for name in WITHOUT_STACK:
        collapsed = collapsed.replace(name, "<empty>")
    expected = {}
    for line in re.sub(r"^\[cut at \d+ frames\];", "", collapsed, flags=re.M).splitlines():
        stack, _, count = line.rpartition(" ")
        expected[stack] = expected.get(stack, 0) + int(count)
    assert {stack: count for stack, count in stacks.items() if count} == expected
    assert {row["host"] for row in rows} == {"web-0", "web-1"}
    (hot,) = [
        row
        for row in rows
        if row["stack"] == "app.Main.main;app.Hot.spin" and row["host"] == "web-1" and row["thread"] == "worker"
    ]
    # The odd ones.
    assert (hot["samples"], hot["files"]) == (101 + 103 + 105 + 107 + 109, 5)
    # The hosts are labels in the profile, and add up to the same.
    hprof("report", output, "-o", tmp_path / "all.html")
    top = hprof("top", output, "--json", "-n", "0")
    assert top == hprof("top", merged, "--json", "-n", "0")


def test_what_differs_is_what_hprof_diff_says(folder, engine, capsys, tmp_path):
    sides = []
    for host in ("web-0", "web-1"):
        sides.append(tmp_path / host)
        hprof("merge", "-o", sides[-1], *sorted(folder.glob(f"{host}-*")))
    for options in ([], ["--normalise"], ["--by", "class", "--total"]):
        arguments = ["diff", f"{folder}/web-0-*", f"{folder}/web-1-*", *engine, "--json", "-n", "0"]
        expected = json.loads(hprof("diff", *sides, "--json", "-n", "0", *options))
        assert comparable(answer(capsys, *arguments, *options)) == comparable(expected)


def test_a_damaged_file_is_named_and_left_out(folder, merged, engine, capsys, tmp_path):
    cut = tmp_path / "cut.hprof"
    cut.write_bytes(next(folder.glob("*.hprof")).read_bytes()[:-7])
    files = [f"{folder}/*.hprof", str(cut)]
    assert cli.main(["top", *files, *engine, "--json", "-n", "0"]) == cli.DAMAGED
    said = capsys.readouterr()
    assert comparable(json.loads(said.out)) == comparable(json.loads(hprof("top", merged, "--json", "-n", "0")))
    (line,) = [line for line in said.err.splitlines() if line.startswith("hprof-fleet:")]
    assert "cut.hprof: left out: byte " in line
    output = tmp_path / "merged"
    assert cli.main(["merge", *files, *engine, "-o", str(output)]) == cli.DAMAGED
    assert "cut.hprof: left out: byte " in capsys.readouterr().err
    assert hprof("top", output, "--json") == hprof("top", merged, "--json")
    assert cli.main(["top", str(cut), *engine]) == cli.NO_ANSWER


def test_without_a_file_there_is_no_answer(engine, capsys, tmp_path):
    assert cli.main(["top", f"{tmp_path}/*.hprof", *engine]) == cli.NO_ANSWER
    assert f"{tmp_path}/*.hprof" in capsys.readouterr().err


def test_one_flame_graph_of_all(folder, engine, tmp_path):
    output = tmp_path / "all.svg"
    assert cli.main(["flame", f"{folder}/*.hprof", "-o", str(output), *engine]) == 0
    drawn = output.read_text()
    assert "app.Hot.spin" in drawn and "app.Own.only9" in drawn


def test_duckdb_sends_to_spark_what_is_not_on_this_machine(capsys):
    pytest.importorskip("duckdb")
    assert cli.main(["top", "s3a://bucket/*.hprof", "--engine", "duckdb", "--hprof", HPROF]) == cli.NO_ANSWER
    assert "--engine spark" in capsys.readouterr().err


def test_any_temporary_folder_will_do(folder, monkeypatch, tmp_path, capsys):
    odd = tmp_path / "it's [a] *? folder"
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    file = sorted(folder.glob("*.hprof"))[0]
    found = [answer(capsys, "top", file, "--engine", "duckdb", "--hprof", HPROF, "--json")]
    monkeypatch.undo()
    found.append(answer(capsys, "top", file, "--engine", "duckdb", "--hprof", HPROF, "--json"))
    assert found[0] == found[1]
    assert list(odd.iterdir()) == []


def test_a_file_name_that_looks_like_an_option_labels_nothing(folder, monkeypatch, tmp_path, capsys):
    shutil.copy(sorted(folder.glob("*.hprof"))[0], tmp_path / "--label=host=EVIL.hprof")
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "merged"
    assert cli.main(["merge", "*.hprof", "--engine", "duckdb", "--hprof", HPROF, "-o", str(output)]) == 0
    assert "EVIL" not in hprof("export", "--to", "json", output)
