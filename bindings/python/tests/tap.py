"""A reporter for pytest that prints TAP, which meson and scripts/check-totals read: one line a case."""


class TapReporter:
    """Counts results and prints them as they come."""

    def __init__(self):
        self.count = 0
        self.left_out = []  # lines for modules that skip themselves as a whole

    def pytest_collection_finish(self, session):
        print(f"1..{len(session.items) + len(self.left_out)}", flush=True)
        for module, reason in self.left_out:
            self.line("ok", module, f"# SKIP {reason}")

    def line(self, word, name, rest=""):
        self.count += 1
        name = name.rpartition("/")[2].replace("#", "")
        print(f"{word} {self.count} - {name} {rest}".rstrip(), flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            print(f"Bail out! {report.nodeid} cannot be imported", flush=True)
            explain(report)
        elif report.skipped:
            self.left_out.append((report.nodeid, reason_of(report)))

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            if report.when == "teardown":
                # The case has its line already. The status of the run says that it failed.
                print(f"# after {report.nodeid}", flush=True)
                explain(report)
            else:
                self.result(report)

    def result(self, report):
        expected = getattr(report, "wasxfail", None)
        if expected is not None:
            word = "not ok" if report.skipped else "ok"
            self.line(word, report.nodeid, f"# TODO {expected}")  # TAP's word for known failures: ok if it is fixed
        elif report.skipped:
            self.line("ok", report.nodeid, f"# SKIP {reason_of(report)}")
        elif report.failed:
            self.line("not ok", report.nodeid)
            explain(report)
        else:
            self.line("ok", report.nodeid)


def reason_of(report):
    """Why a case or a module was skipped."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ").replace("\n", " ")


def explain(report):
    """Comments: the exception first, then where it was raised, then what the case printed."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = crash.message.splitlines()[:1] if crash else []
    lines += str(report.longrepr).splitlines()
    for title, text in report.sections:
        lines += [title, *text.splitlines()]
    for line in lines:
        print(f"# {line}", flush=True)
