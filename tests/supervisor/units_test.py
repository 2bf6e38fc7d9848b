#!/usr/bin/env python3
"""units_test.py SYSTEM USER BINDIR WARPWAYD CONFIG - that the files for systemd are right

SYSTEM and USER are folders with the units as they will be installed for programs in BINDIR; WARPWAYD is the
program and CONFIG the example of its configuration. systemd itself judges the units, where it is installed; the
daemon judges the configuration. Speaks TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SYSTEM, USER, BINDIR, WARPWAYD, CONFIG = map(os.path.abspath, sys.argv[1:])
UNITS = ["warpwayd.service", "warpwayd.socket"]
LIMIT_S = 120 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))


def expect(what, told):
    if not what:
        raise AssertionError(told)


def verify(scope, folder, units=None):
    """Why it was skipped, or nothing."""
    units = units or UNITS
    if not shutil.which("systemd-analyze"):
        return "there is no systemd-analyze here"
    with tempfile.TemporaryDirectory(prefix="warpway-") as scratch:
        for unit in units:
            with open(os.path.join(folder, unit), encoding="utf-8") as stream:
                text = stream.read()
            # The program is not installed yet, nor are its manuals.
            text = text.replace(BINDIR + "/warpwayd", WARPWAYD).replace(BINDIR + "/warpway ", "/bin/true ")
            text = re.sub(r"(?m)^Documentation=.*\n", "", text)
            with open(os.path.join(scratch, unit), "w", encoding="utf-8") as stream:
                stream.write(text)
        done = subprocess.run(
            ["systemd-analyze", "verify", scope, "--man=no",
             *(os.path.join(scratch, unit) for unit in units)],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
            env={**os.environ, "XDG_RUNTIME_DIR": scratch})
        said = [line for line in (done.stdout + done.stderr).splitlines() if "warpway" in line]
        expect(done.returncode == 0 and not said, f"{done.stdout}{done.stderr}")
    return None


def units_of_the_machine():
    return verify("--system", SYSTEM)


def units_of_a_user():
    return verify("--user", USER)


def unit_of_the_metrics():
    if not os.path.exists(os.path.join(SYSTEM, "warpway-metrics.service")):
        return "warpway-metrics is not built here"
    return verify("--system", SYSTEM, ["warpway-metrics.service"])


def try_config(text):
    """The daemon reads it first, and then finds that it cannot listen in a folder that is none."""
    with tempfile.TemporaryDirectory(prefix="warpway-") as scratch:
        path = os.path.join(scratch, "conf")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        done = subprocess.run([WARPWAYD, "--config", path, "--socket", "/dev/null/s"], capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
    expect(done.returncode == 1, f"status {done.returncode}")
    return done.stderr


def example_of_a_configuration():
    with open(CONFIG, encoding="utf-8") as stream:
        text = stream.read()
    expect("/dev/null" in try_config(text), "as it is")
    shown = re.sub(r"(?m)^#(?=\[|[\w/]+ = )", "", text)
    shown = re.sub(r"alice|models|users", "0", shown)
    expect(shown.count("\n#") < text.count("\n#") - 8, "nothing is switched on")
    said = try_config(shown)
    expect("/dev/null" in said, said)


def main():
    cases = [units_of_the_machine, units_of_a_user, unit_of_the_metrics, example_of_a_configuration]
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        result, why, skipped = "ok", None, None
        try:
            skipped = case()
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            result, why = "not ok", str(error)
        if why:
            print("# " + why.replace("\n", "\n# "))
        name = case.__name__.replace("_", " ")
        print(f"{result} {number} - {name}" + (f" # SKIP {skipped}" if skipped else ""))


main()
