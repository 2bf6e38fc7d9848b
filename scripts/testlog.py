"""testlog - reads the logs of test runs that meson writes (BUILD/meson-logs/testlog.json)

A test that speaks TAP counts line by line: ok, not ok, skipped; a failure that is expected counts as skipped, and as
failed when it passes. Any other test counts as one. A program that crashes, runs out of time, ends early or reports
failure after its last "ok" counts as one failure more.
"""
import json
import re
from collections import Counter

# A failure with this reason says only that a limit expired which ends hangs.
TIME_LIMIT = re.compile(r"ran out of time|time limit|TimeoutExpired|timed out after \d")
TAP = re.compile(r"^(?P<no>not )?ok\b\s*(?P<number>\d+)?\s*(?:-\s*)?(?P<name>[^#]*)"
                 r"(?:#\s*(?P<word>SKIP|TODO)\S*\s*(?P<reason>.*))?", re.IGNORECASE)
# The claim that did not hold, with its place.
CLAIM = re.compile(r"#\s*[\w./-]+\.[ch]:\d+: ")
# cmocka's line with the place of what failed, behind "not ok" and what was not so.
PLACE = re.compile(r"#\s*([\w./-]+\.[ch]:\d+): error: Failure!$")
# The line of a sanitizer's report that names the fault and its place; many more follow it.
FAULT = re.compile(r"SUMMARY: \w+Sanitizer: |: runtime error: ")
# UNIT_SKIP() of src/base/unit_test.h, in the comment before "ok".
CANNOT_RUN = re.compile(r"\w+ cannot run here: (.*)")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\S*\s*(.*))?", re.IGNORECASE)


class Totals:
    """What was counted so far, and what is to be told about it."""

    def __init__(self):
        self.count = Counter()
        self.failures, self.skips = [], {}

    def passed(self):
        self.count["passed"] += 1

    def failed(self, test, what):
        self.count["failed"] += 1
        self.failures.append((test, what))

    def explained(self, reason):
        """Adds to the failure that was noted last why it is one."""
        test, what = self.failures[-1]
        self.failures[-1] = test, f"{what}: {reason}"

    def skipped(self, test, name, reason):
        self.count["skipped"] += 1
        self.skips.setdefault((test, reason or "no reason given"), []).append(name)


def read_tap_line(totals, test, match, comment):
    """Count one result line. Returns 'passed', 'failed' or 'skipped'."""
    name = match["name"].strip()
    word = (match["word"] or "").upper()
    reason = (match["reason"] or "").strip()
    if word == "SKIP":
        # cmocka says "not ok N # SKIP NAME", with the reason, if any, in the comment before.
        if not name and comment:
            name, reason = reason, comment
        totals.skipped(test, name or f"number {match['number']}", reason or comment)
        return "skipped"
    if word and match["no"]:
        totals.skipped(test, name, f"known to fail: {reason}")
        return "skipped"
    if word:
        totals.failed(test, f"{name}: passed, though it is listed as known to fail: {reason}")
        return "failed"
    if match["no"]:
        totals.failed(test, name or f"number {match['number']}")
        return "failed"
    if cannot := CANNOT_RUN.match(comment):
        totals.skipped(test, name, cannot[1])
        return "skipped"
    totals.passed()
    return "passed"


def read_tap(totals, test, output):
    """Count every line of a TAP stream. Returns (results by outcome, lines planned or None).

    Why a test failed says the comment that names a claim and its place, else the last one before the test's line, or else
    the first one behind it, and cmocka's place; the fault that a sanitizer reported comes before other comments.
    """
    seen, planned, comment, unexplained = Counter(), None, "", False
    for line in output.splitlines():
        plan = PLAN.match(line)
        result = TAP.match(line)
        if plan:
            planned = int(plan[1])
            if planned == 0:
                totals.skipped(test, "all", plan[2])
                seen["skipped"] += 1
        elif result:
            outcome = read_tap_line(totals, test, result, comment)
            seen[outcome] += 1
            unexplained = outcome == "failed" and not comment
            if outcome == "failed" and comment:
                totals.explained(comment)
            comment = ""
        elif line.startswith("Bail out!"):
            totals.failed(test, line)
            seen["failed"] += 1
        elif seen["failed"] and (place := PLACE.match(line)):
            totals.explained(place[1])
            comment, unexplained = "", False
        elif line.startswith("#") and unexplained:
            totals.explained(line.lstrip("# ").strip())
            unexplained = False
        elif line.startswith("#") and not FAULT.search(comment) and (FAULT.search(line) or not CLAIM.match("#" + comment)):
            comment = line.lstrip("# ").strip()
    return seen, planned


def how_it_ended(record):
    code = record.get("returncode", 0)
    if record["result"] == "TIMEOUT":
        return "ran out of time"
    return f"killed by signal {-code}" if code < 0 else f"exit status {code}"


def read_record(totals, record):
    """Count one test program."""
    test, output = record["name"], record.get("stdout", "")
    result, code = record["result"], record.get("returncode", 0)
    if result == "INTERRUPT":
        totals.failed(test, "interrupted")
        return
    if any(PLAN.match(line) or TAP.match(line) for line in output.splitlines()):
        seen, planned = read_tap(totals, test, output)
        ran = sum(seen.values())
        if planned and ran < planned:
            gave_up = totals.failures[-1][1] if seen["failed"] else ""
            ended = gave_up if gave_up.startswith("Bail out!") else how_it_ended(record)
            totals.failed(test, f"{ran} of {planned} ran; {ended}")
        elif code < 0 or result == "TIMEOUT":
            totals.failed(test, how_it_ended(record))
        elif (code > 0 or result == "ERROR") and not seen["failed"]:
            totals.failed(test, how_it_ended(record))
    elif result in ("OK", "EXPECTEDFAIL"):
        totals.passed()
    elif result == "SKIP":
        lines = output.strip().splitlines()
        totals.skipped(test, "all", lines[-1] if lines else "")
    else:
        totals.failed(test, how_it_ended(record))




def read_log(totals, path):
    """Count each test program of a log. Returns their records; a log that cannot be read is a failure."""
    records = []
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                records.append(json.loads(line))
                read_record(totals, records[-1])
    except (OSError, ValueError, KeyError) as error:
        totals.failed(path, f"cannot be read: {error}")
    return records


def report(totals):
    """Print every skip, then every failure, with the reason if there is one, and as the last line the totals.

    Returns 1 if anything failed, or if nothing passed.
    """
    for (test, reason), names in totals.skips.items():
        which = names[0] if len(names) == 1 else f"{len(names)} tests"
        print(f"skipped: {test}: {which}: {reason}")
    for test, what in totals.failures:
        print(f"failed: {test}: {what}")
    count = totals.count
    if not count["passed"] and not count["failed"]:
        print("no test passed, none failed: nothing was tested")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 0 if count["passed"] and not count["failed"] else 1
