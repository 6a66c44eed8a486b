"""Questions in SQL about a heap dump."""

import json
import os
import re
import shutil
import stat
from pathlib import Path

import pytest
from dumps import shop

from hprof_fleet import cli

pytest.importorskip("duckdb")
HPROF = shutil.which(os.environ.get("HPROF_CLI", "hprof"))
PAGE = Path(__file__).parents[2] / "docs/reference/sql.md"
COUNT = "SELECT count(*) AS objects FROM objects"

pytestmark = pytest.mark.skipif(HPROF is None, reason="there is no `hprof`: $HPROF_CLI names none")


@pytest.fixture
def dump(tmp_path):
    dump = tmp_path / "shop.hprof"
    dump.write_bytes(shop())
    return dump


def ask(dump, query, *options):
    return cli.main(["sql", "--hprof", HPROF, *options, str(dump), query])


def test_the_answers_on_the_page(dump, capsys):
    questions = re.findall(r"```sql\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert PAGE.read_text().split("\n## ")[1].count("```sql") == 10 < len(questions)
    for question, answer in questions:
        assert ask(dump, question) == 0
        assert capsys.readouterr().out == answer, question


def test_each_field_has_its_value(dump, capsys):
    query = "SELECT field, type, number, real, to_id, is_static FROM fields WHERE object_id = {} ORDER BY field"
    for ident, expected in {
        0x2100: [("customer", 0x3000, None), ("number", 2, None), ("total", None, 120.25)],
        0x7500: [("id", 0x5300, None), ("isNew", 1, None), ("lastAccessedTime", 1_700_000_900_000, None)],
        # A reference that is null has no value.
        0x2200: [("number", 3, None), ("total", None, 0.0)],
    }.items():
        assert ask(dump, query.format(ident), "--json") == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        values = [(row["field"], row["to_id"] if row["number"] is None else row["number"], row["real"]) for row in rows]
        assert values == expected
    assert ask(dump, "SELECT number, type FROM fields WHERE is_static AND field = 'limit'", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"number": 50, "type": "int"}]


def test_tables_are_kept_until_the_dump_changes(dump, capsys):
    assert ask(dump, COUNT) == 0
    kept = dump.with_name("shop.hprof.tables")
    made = kept.stat().st_ino
    for file in [kept, *kept.rglob("*")]:
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077
    assert ask(dump, COUNT) == 0
    assert kept.stat().st_ino == made
    dump.write_bytes(shop() + b"\x2c\0\0\0\0\0\0\0\0")
    assert ask(dump, COUNT) == 0
    assert kept.stat().st_ino != made
    assert sorted(file.name for file in dump.parent.iterdir()) == ["shop.hprof", "shop.hprof.tables"]


def test_tables_of_others_are_not_read(dump, tmp_path, capsys):
    assert ask(dump, COUNT) == 0
    kept = dump.with_name("shop.hprof.tables")
    kept.chmod(0o755)
    # They could have been changed: others are made.
    assert ask(dump, COUNT) == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    elsewhere = tmp_path / "elsewhere"
    kept.rename(elsewhere)
    kept.symlink_to(elsewhere)
    capsys.readouterr()
    assert ask(dump, COUNT) == 2
    said = capsys.readouterr()
    assert not said.out and "something else has the name of the tables" in said.err
    assert elsewhere.is_dir()


def test_a_cut_dump_says_so_with_every_answer(dump, capsys):
    dump.write_bytes(shop()[: -9 - 9])
    for _ in range(2):
        assert ask(dump, COUNT, "--json") == 1
        said = capsys.readouterr()
        answer = json.loads(said.out)
        assert answer["rows"][0]["objects"] > 0
        assert "the dump was cut here" in answer["incomplete"]
        assert "the dump was cut here" in said.err


def test_what_cannot_be_answered_is_one_line(dump, tmp_path, capsys):
    other = tmp_path / "other"
    other.write_text("no dump")
    for file, query in [(dump, "SELEC"), (dump, "SELECT x FROM objects"), (other, COUNT), (tmp_path / "none", COUNT)]:
        assert ask(file, query) == 2
        said = capsys.readouterr()
        assert not said.out and said.err.count("\n") == 1, said
    assert not other.with_name("other.tables").exists()
