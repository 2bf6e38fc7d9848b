#!/usr/bin/env python3
"""token_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION MAKER - tokens on the command line, and words that are missing

With the helpers of broker_cli_test.py, and a broker of its own. MAKER is token_cli_maker. Speaks TAP.
"""
import contextlib
import os
import pty
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources may be another user's

from broker_cli_test import (  # noqa: E402
    ADDRESS, DEVICE, ENVIRONMENT, LIMIT_S, WARPWAY, begun, done, end, expect, line_event, line_of,
    main, npy, path_of, pattern, read, refused, spoken, start, write)

MAKER = sys.argv[5]


def what_is_missing_is_told():
    """One word may be a file without a name, or a name without bytes."""
    path = write("only.bin", b"x")
    for data in (None, b"", b"piped"):
        refused(2, f"`warpway put NAME {path}`", "put", path, data=data)
    for arguments in (["only"], ["--raw", "only"], ["--replace", "only"]):
        refused(2, "standard input is empty", "put", *arguments)
        refused(2, "`warpway put only -`", "put", *arguments, data=b"")
    code, text = with_terminal_input("put", "only")
    expect(code == 2 and "standard input is a terminal" in text, text)
    expect(b"only" not in done("ls", "--names"), "an object was left")
    done("put", "only", data=b"piped")
    expect(done("get", "only") == b"piped", "what was piped")
    done("put", "--replace", "only", "-", data=b"")
    expect(done("get", "only") == b"", "an empty object that was asked for")
    done("rm", "only")


def with_terminal_input(*arguments):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([WARPWAY, *arguments], stdin=theirs, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=ENVIRONMENT)
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        os.close(theirs)
        os.close(ours)
    return process.returncode, output.decode()


def a_name_is_taken_by_a_process():
    holder = begun("put", "--life", "owner", "taken", "/proc/self/status")
    refused(1, f"'taken' is taken: process {holder.pid} (warpway) of user {os.getuid()} put it",
            "put", "taken", "-", data=b"new")
    end(holder)


# Tokens

def tokens_open_objects():
    whole = npy("<f4", (3, 5), pattern(60))
    done("put", "--device", DEVICE, "--mode", "0600", "token/w", write("in.npy", whole))
    text = done("export", "token/w")
    expect(re.fullmatch(rb"ww1_[A-Za-z0-9_-]+\n", text), str(text))
    expect(spoken("stat", "token/w")["escrows"] == 1, "one in escrow")
    done("get", "--token", text.decode(), path_of("out.npy"))
    expect(read("out.npy") == whole, "by the command line")
    expect(done("get", "--token", "-", data=text) == pattern(60), "through standard input")
    expect(done("get", "--npy", "--token=-", "-", data=b" " + text) == whole, "as .npy")
    expect(done("get", "--broker", ADDRESS, "--token", "-", data=text) == pattern(60), "--broker")
    # The address that stands in it is enough, whatever this process takes for its broker.
    elsewhere = {"XDG_RUNTIME_DIR": path_of("elsewhere"), "WARPWAY_BROKER": ""}
    expect(done("get", "--token", "-", data=text, **elsewhere) == pattern(60), "elsewhere")
    if DEVICE != "host":
        expect(done("get", "--device", DEVICE, "--token", "-", data=text) == pattern(60), "GPU")
    refused(2, "--token", "get", "--token", "-", data=text[:-3])
    refused(2, "--token", "get", "--token", "-", data=b"")
    number = spoken("stat", "token/w")["id"]
    done("rm", "token/w")
    expect(done("get", "--token", "-", data=text) == pattern(60), "without its name")
    done("rm", "--end", number)
    refused(1, "what the token names", "get", "--token", "-", data=text)


@contextlib.contextmanager
def made():
    """The process of MAKER, while it runs, and the token that it prints."""
    maker = subprocess.Popen([MAKER, DEVICE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
    try:
        yield maker.pid, line_of(maker).encode()
    finally:
        maker.communicate(timeout=LIMIT_S)


def tokens_name_parts():
    with made() as (_, text):
        expect(done("get", "--token", "-", data=text) == b"hello", "the array's elements, of the part alone")
        done("get", "--token", "-", path_of("part.npy"), data=text)
        expect(read("part.npy") == npy("|u1", (5,), b"hello"), "as .npy")


def several_names_are_one_memory():
    with made() as (pid, _):
        names = spoken("ls", "maker/")
        expect([name["name"] for name in names] == ["maker/one", "maker/two"], str(names))
        listed = done("ls", "maker/").decode()
        expect(f", {names[0]['bytes']} bytes\n" in listed, "the bytes of both names count once: " + listed)
        told = done("rm", "maker/one").decode()
        expect(re.fullmatch(rf"maker/one: the name is free; its \S+ MiB stay as maker/two, held by pid {pid} \(.*\)"
                            r" and 1 token in escrow, .* left\n", told), told)


def slices_have_bytes_of_their_own():
    """They have the id of their pool, which is in the list with --all."""
    with made() as (pid, _):
        slices = spoken("ls", "slice/")
        expect([entry["name"] for entry in slices] == ["slice/one", "slice/two"], str(slices))
        expect([entry["bytes"] for entry in slices] == [4096, 4096], str(slices))
        expect(", 8192 bytes\n" in done("ls", "slice/").decode(), done("ls", "slice/").decode())
        everything = {}
        for entry in spoken("ls", "--all"):  # a pool comes before its slices
            everything.setdefault(entry["id"], entry["bytes"])
        sums = [[int(number) for number in re.findall(r"^\d+ .*, (\d+) bytes", done("ls", *option).decode(), re.M)]
                for option in ([], ["--all"])]
        expect(sums[1] == [sum(everything.values())] == [sum(sums[0])], f"{sums} {everything}")
        report = spoken("who")
        why = {entry["name"]: entry["why"] for entry in report["objects"]}
        expect(re.fullmatch(rf"until pid {pid} \(.*\) ends; a slice of the pool \(id {slices[0]['id'][:8]}\)", why["slice/one"]), str(why))
        holds = [hold["name"] for entry in report["processes"] if entry["pid"] == pid for hold in entry["holds"]]
        expect("" in holds and "slice/one" not in holds, f"it holds the pool: {holds}")
        expect(done("rm", "slice/one") == b"slice/one: the name is free; its 4.0 KiB are free in their pool when they have no other name"
               b" and no process uses them\n", "that was told")
        refused(2, "remove the name only", "rm", "--end", "slice/two")


def kept_by_tokens(*options):
    found = re.search(r"^(\d+) bytes of these are kept by tokens alone: warpway who$", done("ls", *options).decode(), re.M)
    return int(found[1]) if found else 0


def tokens_keep_objects_as_they_say():
    """Of an object that goes with its holder: the escrow holds it, as long and as often as was said."""
    for options, imports in ((["--uses", "2"], 2), (["--uses", "1"], 1), (["--escrow", "0"], 0)):
        holder = begun("put", "--device", DEVICE, "--life", "held", "token/held", "/proc/version")
        told = spoken("export", *options, "token/held")
        expect(sorted(told) == ["access", "escrow_ns", "name", "token", "uses"], str(told))
        expect(told["name"] == "token/held" and told["access"] == "read", str(told))
        expect(told["escrow_ns"] == (0 if "--escrow" in options else 60 * 10**9), str(told))
        expect(told["uses"] == imports, str(told))
        watch = start("watch", "--json", "--existing", "token/")
        line_event(watch)
        nbytes, before = spoken("stat", "token/held")["bytes"], kept_by_tokens()
        end(holder)
        for option in ([], ["--all"]):
            expect(kept_by_tokens(*option) - before == (nbytes if imports else 0), f"the table says who keeps it: {before}")
        for _ in range(imports):
            expect(b"Linux" in done("get", "--token", "-", data=told["token"].encode()), "it is gone")
        while line_event(watch) != "gone":
            pass
        end(watch)
        refused(1, "what the token names", "get", "--token", "-", data=told["token"].encode())
    done("put", "token/long", "-", data=b"x")
    refused(2, "escrow_max_s", "export", "--escrow", "1000000", "token/long")
    done("rm", "token/long")


def tokens_grant_what_the_mode_allows():
    done("put", "token/sealed", "-", data=b"x")
    refused(1, "sealed", "export", "--access", "write", "token/sealed")
    done("put", "--shared", "token/shared", "-", data=b"x")
    told = spoken("export", "--access", "write", "token/shared")
    expect(told["access"] == "write", str(told))
    expect(done("get", "--token", "-", data=told["token"].encode()) == b"x", "shared")
    refused(1, "no object 'token/none'", "export", "token/none")
    done("rm", "token/sealed", "token/shared")


sys.exit(main([what_is_missing_is_told, a_name_is_taken_by_a_process, tokens_open_objects, tokens_name_parts,
               several_names_are_one_memory, slices_have_bytes_of_their_own,
               tokens_keep_objects_as_they_say, tokens_grant_what_the_mode_allows]))
