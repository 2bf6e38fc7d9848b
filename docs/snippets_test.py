#!/usr/bin/env python3
"""snippets_test.py BUILD PAGE... - that the commands and programs of a page do what the page says

Of each page, in a folder and with a broker of its own:
- A block after the line `<!-- file: NAME -->` is written to that file.
- Blocks of `sh` are run in their order, in one shell that ends at the first command that fails. A block after the line
  `<!-- not run: REASON -->` is left out.
- A block of `text` after a block of `sh`, below the same heading, is what that one prints: each of its lines has to occur, in this order. Numbers,
  their units of time and runs of spaces may differ.
Speaks TAP.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap

BUILD, *PAGES = sys.argv[1:]
LIMIT_S = 120 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))
BLOCK = re.compile(r"^(#)+ |^( *)(?:<!-- (file|not run|in another shell)(?:: (.*?))? -->\n *)?```(sh|text|) *[^\n]*\n(.*?)^\2```$", re.S | re.M)
MARK = "-- the next block --"


def environment(folder):
    """Of a user who has just installed what BUILD has, on a machine without a GPU."""
    python = subprocess.run([os.path.join(os.path.dirname(__file__), "../scripts/find-python")], stdout=subprocess.PIPE,
                            text=True, check=True).stdout.split()[0]
    os.symlink(python, os.path.join(folder, "python3"))
    path = os.pathsep.join([folder, os.path.join(BUILD, "tools"), os.path.join(BUILD, "src/daemon"), os.environ["PATH"]])
    return {"PATH": path, "HOME": folder, "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": folder,
            "WARPWAY_BROKER": os.path.join(folder, "broker/broker.sock"),
            "WARPWAYD": os.path.join(BUILD, "src/daemon/warpwayd"),
            "PKG_CONFIG_PATH": os.path.join(BUILD, "meson-uninstalled"),
            "LD_LIBRARY_PATH": os.pathsep.join([os.path.join(BUILD, "tests/nodriver"), os.path.join(BUILD, "src")]),
            "PYTHONPATH": os.path.join(BUILD, "bindings/python"), "PYTHONDONTWRITEBYTECODE": "1"}


def transcript(code):
    """What a terminal shows, as commands and as what they print: a command goes on until it is one for the shell."""
    commands, prints, open_command = [], [], ""
    for line in code.splitlines():
        if open_command or line.startswith("$ "):
            open_command += line.removeprefix("$ ") + "\n"
            if subprocess.run(["bash", "-n"], input=open_command, text=True, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                commands.append(open_command)
                open_command = ""
        else:
            prints.append(line)
    return "".join(commands), prints


def parts(page):
    """The script of a page, what each of its parts is to print, and its files."""
    script, expected, files = [], [], {}
    after_sh = False
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for heading, _, kind, argument, language, code in BLOCK.findall(text):
        if heading:
            after_sh = False
            continue
        code = textwrap.dedent(code)
        if kind == "file":
            files[argument] = code
        shown = transcript(code) if language == "" and code.startswith("$ ") and kind != "not run" else None
        runs = language == "sh" and kind != "not run"
        if shown:
            script.append(f"echo '{MARK}'\nset +e\n{shown[0]}\nset -e")
            expected.append(shown[1])
        elif runs:
            script.append(f"echo '{MARK}'\n" + (f"(\n{code}) &" if kind == "in another shell" else code))
            expected.append([])
        elif language == "text" and after_sh:
            expected[-1] = code.splitlines()
        after_sh = runs
    return "set -eu\n" + "\n".join(script), expected, files


def pattern(line):
    """What a printed line has to look like; root stands for any user."""
    number = r"\d+(?:\.\d+)?(?: (?:us|ms|s)\b)?"
    pieces = re.split(rf"({number}|\broot\b)", line.strip())
    return "".join(re.sub(r"(?:\\ )+", r"\\s+", re.escape(piece)) if i % 2 == 0 else
                   r"[\w-]+" if piece == "root" else number for i, piece in enumerate(pieces))


def missing(expected, printed):
    """The first line that was not printed in its place; "" if there is none."""
    rest = printed.splitlines()
    for line in expected:
        while rest and not re.match(pattern(line) + r"\s*$", rest[0].strip()):
            rest.pop(0)
        if not rest:
            return line
        rest.pop(0)
    return ""


def run(script, folder):
    """Runs the script beside a broker; what it printed, and why it failed, if so."""
    env = environment(folder)
    ready, says = os.pipe()
    broker = subprocess.Popen([env["WARPWAYD"], "--socket", env["WARPWAY_BROKER"], "--ready-fd", str(says)], env=env,
                              pass_fds=[says])
    os.close(says)
    with os.fdopen(ready) as told:
        assert told.readline() == "ready\n"
    broker.wait()
    try:
        done = subprocess.run(["bash", "-c", script], cwd=os.path.join(folder, "work"), env=env, timeout=LIMIT_S, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
        return done.stdout, "" if done.returncode == 0 else f"it ended with status {done.returncode}"
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(), f"it did not end within {LIMIT_S} s"
    finally:
        subprocess.run(["warpway", "serve", "--stop", "--force"], env=env, check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def complaint(page):
    """What is wrong with a page; "" if nothing is."""
    script, expected, files = parts(page)
    folder = tempfile.mkdtemp(prefix="ww-page-")
    try:
        os.mkdir(os.path.join(folder, "work"))
        for name, code in files.items():
            with open(os.path.join(folder, "work", name), "w", encoding="utf-8") as file:
                file.write(code)
        printed, failure = run(script, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if failure:
        return f"{failure}:\n{printed}"
    for lines, said in zip(expected, printed.split(MARK + "\n")[1:]):
        line = missing(lines, said)
        if line:
            return f"the page says that a command prints:\n{line}\nbut it printed:\n{said}"
    return "" if expected else "nothing on this page is run"


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"1..{len(PAGES)}")
    for number, page in enumerate(PAGES, 1):
        said = complaint(page)
        print("".join(f"# {line}\n" for line in said.splitlines()), end="")
        print(f"{'not ok' if said else 'ok'} {number} - {os.path.basename(page)}", flush=True)


main()
