"""The page of `hprof report`, in Chromium."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from suite import runs
from suite.answers import CannotRun, Row

NAME = "page"
AMOUNT = re.compile(r"^([\d,]+)(?: (\w+))?$")
SAMPLES = ("sample", "samples", None)


def find(places):
    if not browser() or not shutil.which("node") or not places.tool("HPROF_PLAYWRIGHT", "playwright"):
        raise CannotRun("there is no chromium, no node, or no playwright-core")


def browser():
    return os.environ.get("HPROF_BROWSER") or shutil.which("chromium")


def read(run, file, option, value):
    """Returns the rows of the page's table; the exact amounts are what its cells say when they are pointed at."""
    target = run.folder / "page.html"
    runs.call(run.places.cli, "report", "-o", target, file)
    words = ["node", str(pathlib.Path(__file__).with_suffix(".mjs")), str(target), option]
    here = {"HPROF_BROWSER": str(browser()), "HPROF_PLAYWRIGHT": str(run.places.tool("HPROF_PLAYWRIGHT", "playwright"))}
    done = subprocess.run(words, capture_output=True, text=True, timeout=runs.TIMEOUT, env={**runs.environment(), **here})
    if done.returncode:
        raise CannotRun(f"the page could not be read: {done.stderr.strip()[-200:]}")
    rows = []
    for row in json.loads(done.stdout):
        # Own cost, and that with what is called.
        amounts = [AMOUNT.match(text) for text in row["amounts"]]
        if len(amounts) >= 2 and all(amounts):
            number, unit = amounts[1].groups()
            factor = run.notes["interval_ns"] if unit in SAMPLES and option == "cpu" else 1
            rows.append(Row((row["name"],), None, None, {value: int(number.replace(",", "")) * factor}))
    return rows
