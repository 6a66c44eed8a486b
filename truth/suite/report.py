"""The tables, and the file of raw values."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import pathlib
import platform
import statistics

from .truths import Finding, distance

# Shares that put methods into an order.
ORDERED = ("cpu", "self")

COLUMNS = [
    "date",
    "machine",
    "jvm",
    "kind",
    "case",
    "run",
    "tool",
    "mode",
    "version",
    "what",
    "truth",
    "answer",
    "error",
    "allowed",
    "verdict",
    "note",
]


@dataclasses.dataclass
class Result:
    """One tool's answer to one case, or the reason why there is none."""

    kind: str
    case: str
    jvm: str
    run: int
    tool: str
    mode: str
    version: str
    findings: list[Finding]
    reason: str = ""

    @property
    def name(self) -> str:
        """The section of `losses.ini`."""
        return f"{self.who} {self.kind} {self.case}"

    @property
    def who(self) -> str:
        return f"{self.tool} {self.mode}".strip()


def verdict(finding: Finding) -> str:
    if finding.measured:
        return "measured"
    unjudged = "does not say" if finding.answer is None else "too few samples"
    return {True: "right", False: "wrong", None: unjudged}[finding.right]


def machine() -> str:
    return f"{platform.node()}-{platform.machine()}"


def write_csv(path: pathlib.Path, results: list[Result]) -> None:
    """Writes every finding of every run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    today = datetime.date.today().isoformat()
    with path.open("w", newline="", encoding="utf-8") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(COLUMNS)
        for result in results:
            head = [
                today,
                machine(),
                result.jvm,
                result.kind,
                result.case,
                result.run,
                result.tool,
                result.mode,
                result.version,
            ]
            if result.reason:
                lines.writerow([*head, "", "", "", "", "", "cannot run", result.reason])
            for finding in result.findings:
                error = "" if finding.error is None else f"{finding.error:.6g}"
                answer = "" if finding.answer is None else finding.answer
                lines.writerow(
                    [
                        *head,
                        finding.what,
                        finding.truth,
                        answer,
                        error,
                        f"{finding.allowed:.6g}",
                        verdict(finding),
                        " ".join(finding.note.split()),
                    ]
                )


def keeps_order(findings: list[Finding]) -> bool | None:
    """Returns True if a profile orders methods as the truth does; None if it states no shares. Equal shares have no order."""
    shares = [(float(finding.truth), float(finding.answer)) for finding in findings if finding.answer and is_share(finding)]
    if not shares:
        return None
    pairs = [(a, b) for a in shares for b in shares if a[0] > b[0]]
    return all(a[1] > b[1] for a, b in pairs)


def is_share(finding: Finding) -> bool:
    return finding.what.split()[0] in ORDERED


def cell(results: list[Result]) -> str:
    """Sums one tool's runs of one case up: how many of its answers are right, and its error."""
    ran = [result for result in results if not result.reason]
    if not ran:
        return results[0].reason if len(results[0].reason) < 40 else "cannot run"
    said = [finding for result in ran for finding in result.findings if finding.right is not None]
    if not said:
        return "does not say" if all(finding.answer is None for result in ran for finding in result.findings) else "too few samples"
    right = sum(finding.right for finding in said)
    errors = [error for error in (distance(result.findings) for result in ran) if error is not None]
    text = f"{right} of {len(said)}"
    if right < len(said):
        text = f"**{text}**"
    if errors:
        text += f", error {statistics.mean(errors):.4g}"
        if len(errors) > 1:
            # 95 % of the mean of the runs.
            text += f" ± {1.96 * statistics.stdev(errors) / len(errors) ** 0.5:.2g}"
    ordered = [order for order in (keeps_order(result.findings) for result in ran) if order is not None]
    if len(ordered) > 1:
        text += f", order kept in {sum(ordered)} of {len(ordered)} runs"
    missing = sum(finding.answer is None for finding in ran[0].findings)
    few = sum(finding.right is None for finding in ran[0].findings) - missing
    return text + (f"; {missing} not said" if missing else "") + (f"; {few} too small" if few else "")


def table(results: list[Result]) -> str:
    """Returns a table for each kind and JVM: a row for each case, a column for each tool and mode."""
    lines = []
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.kind, result.jvm), []).append(result)
    for (kind, jvm), group in groups.items():
        tools = list(dict.fromkeys(result.who for result in group))
        cases = list(dict.fromkeys(result.case for result in group))
        lines += [
            "",
            f"{kind}, JVM {jvm}" if jvm else kind,
            "",
            f"| case | truths | {' | '.join(tools)} |",
            "|---" * (len(tools) + 2) + "|",
        ]
        for case in cases:
            of_case = [result for result in group if result.case == case]
            truths = max((len(result.findings) for result in of_case), default=0)
            cells = [cell(found) if (found := [result for result in of_case if result.who == tool]) else "" for tool in tools]
            lines.append(f"| {case} | {truths} | {' | '.join(cells)} |")
    return "\n".join(lines).strip()


def details(results: list[Result]) -> str:
    """Returns what is wrong, one line each."""
    lines = []
    for result in results:
        for finding in result.findings:
            if finding.right is False:
                said = f"{result.who} says {finding.answer}, not {finding.truth}"
                where = f"{result.kind} {result.case}" + (f" on {result.jvm}" if result.jvm else "")
                lines.append(f"{where}: {finding.what}: {said}" + (f" ({finding.note})" if finding.note else ""))
    return "\n".join(lines)


def full(results: list[Result]) -> str:
    """Returns a table for each case: a row for each truth, and each tool's answer with its error."""
    lines = []
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.kind, result.case, result.jvm), []).append(result)
    for (kind, case, jvm), group in groups.items():
        group = [result for result in group if result.run == 1 and not result.reason]
        if not group:
            continue
        lines += [
            "",
            f"{kind}: {case}" + (f", JVM {jvm}" if jvm else ""),
            "",
            f"| truth | | {' | '.join(result.who for result in group)} |",
        ]
        lines.append("|---" * (len(group) + 2) + "|")
        whats: dict[str, set[str]] = {}
        for result in group:
            for finding in result.findings:
                whats.setdefault(finding.what, set()).add(finding.truth)
        for what, known in whats.items():
            truth = next(iter(known)) if len(known) == 1 else "by run"
            found = [next((finding for finding in result.findings if finding.what == what), None) for result in group]
            lines.append(f"| {what} | {truth} | {' | '.join(map(answer_cell, found))} |")
    return "\n".join(lines).strip()


def answer_cell(finding: Finding | None) -> str:
    if finding is None or finding.answer is None:
        return "does not say"
    if finding.right is None:
        return f"{finding.answer} (few samples)"
    text = finding.answer if finding.right else f"**{finding.answer}**"
    return text if not finding.error else f"{text} ({finding.error:+.3g})"
