#!/usr/bin/env python3
"""channel_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION MAKER - the verbs of `warpway channel`, and what `warpway stat`
says of work queues

With the helpers of broker_cli_test.py, and a broker of its own. MAKER is work_queue_cli_maker. Speaks TAP.
"""
import json
import os
import re
import signal
import stat
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources may be another user's

from broker_cli_test import (  # noqa: E402
    ADDRESS, DEVICE, ENVIRONMENT, FOLDER, LIMIT_S, WARPWAY, begun, completed, done, end, expect,
    halt, line_of, main, npy, path_of, pattern, read, refused, run, spoken, start, write)

MAKER = sys.argv[5]
VERBS = ["pub", "sub", "stat", "evict", "record", "replay"]
PUB = ["channel", "pub", "--device", DEVICE]
SUB = ["channel", "sub", "--wait", "forever"]

RATE_KEYS = "name frames bytes seconds frames_per_s bytes_per_s".split()

# Wrong uses: each ends with 2 and says why in one line.
WRONG = [
    ["channel", "nonsense"], ["channel", "--nonsense"],
    *[["channel", verb, "--nonsense"] for verb in VERBS], *[["channel", verb] for verb in VERBS],
    ["channel", "stat", "a", "b"], ["channel", "evict", "a"], ["channel", "evict", "a", "0", "1"],
    ["channel", "evict", "--wait", "x", "a", "0"], ["channel", "sub", "a", "b"], ["channel", "sub", "--count", "0", "a"],
    ["channel", "sub", "--rate", "0", "a"],
    ["channel", "sub", "--rate", "fast", "a"], ["channel", "sub", "--history", "all", "a"],
    ["channel", "pub", "--bytes", "0", "a"], ["channel", "pub", "--bytes", "1Q", "a"],
    ["channel", "pub", "--shape", "", "a"], ["channel", "pub", "--shape", "4,", "a"],
    ["channel", "pub", "--shape", "4,x", "a"], ["channel", "pub", "--shape", "1,1,1,1,1,1,1,1,1", "a"],
    ["channel", "pub", "--shape", "9223372036854775807,2", "a"],
    ["channel", "pub", "--dtype", "float33", "--shape", "1", "a"], ["channel", "pub", "--dtype", "uint8", "a"],
    ["channel", "pub", "--bytes", "8", "--shape", "8", "a"], ["channel", "pub", "--bytes", "8", "a", "file"],
    ["channel", "pub", "a", "-"], ["channel", "pub", "--bytes", "8", "a", "-", "-"],
    ["channel", "pub", "--policy", "sometimes", "a"], ["channel", "pub", "--slots", "0", "a"],
    ["channel", "pub", "--slots", "4097", "a"], ["channel", "pub", "--consumers", "33", "a"],
    ["channel", "pub", "--slots", "2", "--policy", "latest", "a"], ["channel", "pub", "--mode", "9", "a"],
    ["channel", "pub", "--device", "nonsense", "a"], ["channel", "pub", "--metadata-type", "x" * 16, "a"],
    ["channel", "pub", "--evict-after", "0", "a"], ["channel", "pub", "--metadata", "x" * 4097, "a"],
    ["channel", "pub", "--wait-consumers", "0", "a"],
    ["channel", "pub", "../a"], ["channel", "record", "a"], ["channel", "record", "-o"],
    ["channel", "replay", "a"], ["channel", "replay", "--speed", "0", "a", "b"],
]


def report_of(process):
    """What a command that was started with --json prints; it must have done its work without a complaint."""
    output, errors = process.communicate(timeout=LIMIT_S)
    expect(process.returncode == 0 and errors == b"", f"{process.args}: {process.returncode} {errors}")
    return json.loads(output)


def producer_of(name, *options):
    """Starts a producer, and waits until its channel is there."""
    return begun(*PUB, *options, name)


def recorder_of(name, folder):
    return start("channel", "record", "--wait", "forever", "-o", folder, name)


def ended(process, code=0):
    """What a process says until it ends by itself."""
    output, errors = process.communicate(timeout=LIMIT_S)
    expect(process.returncode == code and (errors == b"") == (code == 0), f"{process.returncode} {output} {errors}")
    return output.decode(), errors.decode()


def stop(process, words, number=signal.SIGINT):
    """Ends a command, which must print these words and do its work without a complaint."""
    code, output, errors = end(process, number)
    expect(code == 0 and words in output and errors == b"", f"{process.args}: {code} {output} {errors}")


def lines_of(folder):
    with open(os.path.join(folder, "frames.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def file_in(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


# Use

def wrong_use_is_refused():
    for arguments in WRONG:
        refused(2, "", *arguments)


def help_is_there():
    text = done("channel", "--help").decode()
    expect(all(f"\n  {verb} " in text for verb in VERBS) and "`warpway channel VERB --help`" in text, text)
    expect(run("channel").returncode == 2, "no verb")
    refused(2, "unknown verb 'pup'; verbs are pub, sub,", "channel", "pup")
    for verb in VERBS:
        text = done("channel", verb, "--help").decode()
        expect(text.startswith(f"Usage: warpway channel {verb} ") and "Exit codes" in text, text)
        expect(f"\n  warpway channel {verb} " in text and "--broker" in text and "--json" in text, text)
        expect(all(len(line) <= 100 for line in text.splitlines()), text)


def what_is_not_there_is_told():
    refused(1, "there is no object 'none'", "channel", "sub", "none")
    done("put", "file", "-", data=b"x")
    for arguments in (["sub", "file"], ["stat", "file"], ["evict", "file", "0"]):
        refused(1, "it is no channel", "channel", *arguments)
    refused(1, "no object 'none'", "channel", "sub", "none")
    refused(1, "no object 'none'", "channel", "evict", "none", "0")
    refused(1, "not there in time", "channel", "sub", "--wait", "0.001", "none")
    refused(1, "'file' is taken", *PUB, "file")
    refused(1, "No such file", *PUB, "none", path_of("missing.npy"))
    refused(1, "cannot read the recording", "channel", "replay", "none", path_of("missing"))
    done("rm", "file")


# Frames

def frames_come_whole():
    """With policy block a consumer misses nothing from its first frame on, beside others and their ends."""
    for options, size in ((["--bytes", "1"], 1), (["--bytes", "4097"], 4097),
                          (["--bytes", "3MiB", "--slots", "1"], 3 << 20),
                          (["--shape", "3,5,7", "--dtype", "float32"], 420)):
        producer = producer_of("frames", *options)
        consumers = [start("channel", "sub", "--check", "--json", "--count", str(count), "frames")
                     for count in (10, 50)]
        for consumer, count in zip(consumers, (10, 50)):
            report = report_of(consumer)
            expect(sorted(report) == sorted([*RATE_KEYS, "dropped", "checked", "end", "latency_ns"]), str(report))
            expect(report["frames"] == count and report["dropped"] == 0 and report["end"] == "count", str(report))
            expect(report["bytes"] == count * size and report["checked"], str(report))
            check_latency(report["latency_ns"], count)
        stop(producer, b"published")


def check_latency(latency, frames):
    order = [latency[key] for key in ("least", "p50", "p99", "p99_9", "most")]
    expect(order == sorted(order), str(latency))
    rows = latency["histogram"]
    expect(sum(row["frames"] for row in rows) == frames, str(latency))
    ends = [row["up_to_ns"] for row in rows]
    expect(ends == sorted(set(ends)) and ends[-1] >= latency["most"], str(latency))


def text_is_for_people():
    producer = start(*PUB, "--wait-consumers", "1", "--shape", "2,3", "--dtype", "float32", "--count", "3", "text")
    consumer = start(*SUB, "text")
    first = line_of(consumer)
    expect(first == "text: policy block, 4 slots of 512 B, frames of float32[2,3], up to 4 consumers\n", first)
    lines = ended(producer)[0].splitlines(keepends=True)
    expect(lines[0] == first and lines[1] == "waiting for 1 consumer\n", str(lines))
    expect(lines[2].startswith("published 3 frames in "), str(lines))
    text = ended(consumer)[0]
    expect(text.startswith("received  3 frames in ") and "\ndropped   0\n" in text, text)
    expect("\nlatency   p50 " in text and ", p99.9 " in text and text.endswith("\nend       closed\n"), text)


def json_of_a_producer_is_there():
    told = json.loads(done(*PUB, "--json", "--bytes", "100", "--count", "7", "alone"))
    expect(sorted(told) == sorted(RATE_KEYS) and told["frames"] == 7 and told["bytes"] == 700, str(told))


def a_wrong_frame_is_found():
    producer = start(*PUB, "--bytes", "4096", "wrong", "-", stdin=subprocess.PIPE)
    consumer = begun(*SUB, "--check", "wrong")
    output, _ = producer.communicate(pattern(8192), timeout=LIMIT_S)
    expect(producer.returncode == 0 and b"published 2 frames" in output, str(output))
    expect("frame 1 is wrong: byte 0 of 4096 is 0x" in ended(consumer, 1)[1], "not told")


def standard_input_is_cut_into_frames():
    folder = path_of("pieces")
    producer = start(*PUB, "--bytes", "1000", "--metadata", "one ä", "--metadata-type", "text/1", "pieces", "-",
                     stdin=subprocess.PIPE)
    recorder = recorder_of("pieces", folder)
    line_of(recorder)
    producer.communicate(pattern(5000), timeout=LIMIT_S)
    expect("recorded 5 frames" in ended(recorder)[0], "frames")
    lines = lines_of(folder)
    expect([line["number"] for line in lines] == [1, 2, 3, 4, 5], str(lines))
    expect(b"".join(file_in(folder, line["file"]) for line in lines) == pattern(5000), "bytes")
    expect(all(bytes.fromhex(line["metadata"]) == "one ä".encode() for line in lines), str(lines))
    times = [line["submitted_ns"] for line in lines]
    expect(times == sorted(times) and times[0] > 0, str(times))
    told = json.loads(file_in(folder, "channel.json"))
    expect(told["metadata_type"] == "text/1" and told["policy"] == "block" and told["array"] is None, str(told))
    refused(1, "inside a frame: 500 of 1000 bytes", *PUB, "--json", "--bytes", "1000", "short", "-", data=pattern(1500))


def files_are_frames():
    data = [pattern(24, seed) for seed in range(3)]
    paths = [write(f"frame{i}.npy", npy("<f4", (2, 3), data[i])) for i in range(3)]
    folder = path_of("files")
    producer = start(*PUB, "--json", "--wait-consumers", "1", "--count", "5", "files", *paths)
    recorder = recorder_of("files", folder)
    expect(report_of(producer)["frames"] == 5 and "recorded 5 frames" in ended(recorder)[0], "frames")
    for i, line in enumerate(lines_of(folder)):
        expect(line["file"].endswith(".npy") and file_in(folder, line["file"]) == read(f"frame{i % 3}.npy"), str(line))
    write("other.npy", npy("<f4", (3, 2), data[0]))
    refused(1, "another type or shape", *PUB, "files", paths[0], path_of("other.npy"))
    refused(1, "another type or shape", *PUB, "files", paths[0], write("raw.bin", b"x"))
    write("fortran.npy", npy("<f4", (2, 3), data[0], fortran=True))
    refused(1, "Fortran order", *PUB, "files", path_of("fortran.npy"))
    refused(1, "empty", *PUB, "files", write("empty.bin", b""))
    refused(2, "stands alone", *PUB, "files", paths[0], "-")


def await_frame(name, number):
    """Waits until the only consumer is to receive one behind that next. Returns its number."""
    while True:
        consumer, = spoken("channel", "stat", name)["consumers"]
        if consumer["next"] > number:
            return consumer["next"]


def the_newest_frame_is_for_whoever_comes():
    """With a policy that drops, one that does nothing at all slows nobody."""
    producer = producer_of("newest", "--policy", "latest", "--bytes", "100")
    slow = begun(*SUB, "--check", "newest")
    await_frame("newest", await_frame("newest", 0)) # it has received one
    halt(slow)
    report = spoken("channel", "sub", "--check", "--count", "200", "newest")
    expect(report["frames"] == 200 and report["end"] == "count", str(report))
    published = spoken("channel", "stat", "newest")["published"]
    os.kill(slow.pid, signal.SIGCONT)
    await_frame("newest", published)
    code, output, errors = end(slow)
    dropped = re.search(rb"\ndropped   ([0-9]+)\n", output)
    expect(code == 0 and errors == b"" and int(dropped.group(1)) > 0, f"{code} {output} {errors}")
    stop(producer, b"published")


def a_producer_that_waits_says_for_whom():
    producer = producer_of("stuck", "--slots", "1", "--bytes", "8")
    slow = begun(*SUB, "--rate", "0.001", "stuck")
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(producer.stderr.fileno(), 1)
    expect(f", process {slow.pid} (warpway), has not released".encode() in line, str(line))
    code, output, _ = end(producer)
    expect(code == 0 and b"published" in output, f"{code} {output}")
    code, output, _ = end(slow)
    expect(code == 0 and b"end       " in output, f"{code} {output}")


def whoever_waits_for_consumers_loses_none_of_their_frames():
    """A consumer that the broker has told of may still be joining."""
    for number in range(20):
        consumers = [start(*SUB, "--json", "--check", f"early/{number}") for _ in range(2)]
        producer = start(*PUB, "--json", "--wait-consumers", "2", "--bytes", "8", "--count", "20", f"early/{number}")
        report_of(producer)
        for consumer in consumers:
            report = report_of(consumer)
            expect(report["frames"] == 20 and report["end"] == "closed", str(report))


# Looking

STAT_KEYS = ("name policy slots slot_bytes array metadata_bytes metadata_type pid program state published published_ns"
             " consumers_max held_max waits_for waited_ns consumers").split()
CONSUMER_KEYS = "number pid uid user program held next behind dropped state waited_for waited_ns".split()


def stat_tells_all():
    producer = producer_of("seen", "--shape", "3,4", "--dtype", "int16", "--metadata", "m", "--metadata-type", "x/1",
                           "--slots", "3", "--policy", "block")
    text = done("channel", "stat", "seen").decode()
    expect("consumers   0 of 4" in text and "CONSUMER" not in text, text)
    slow = begun(*SUB, "--rate", "0.001", "seen")
    while True:
        told = spoken("channel", "stat", "seen")
        if told["waits_for"] is not None and [consumer["held"] for consumer in told["consumers"]] == [1]:
            break
        expect(producer.poll() is None and slow.poll() is None, "one ended")
    expect(sorted(told) == sorted(STAT_KEYS), str(told))
    expect(told["array"] == "int16[3,4]" and told["metadata_type"] == "x/1" and told["slots"] == 3, str(told))
    expect(told["pid"] == producer.pid and told["state"] == "live" and told["policy"] == "block", str(told))
    consumer, = told["consumers"]
    expect(sorted(consumer) == sorted(CONSUMER_KEYS), str(consumer))
    expect(consumer["pid"] == slow.pid and consumer["uid"] == os.getuid(), str(consumer))
    expect(consumer["waited_for"] and consumer["number"] == told["waits_for"], str(told))
    expect(consumer["behind"] == 2, str(consumer))
    text = done("channel", "stat", "seen").decode()
    expect(f"producer    pid {producer.pid} (warpway), live, waits for consumer {consumer['number']}" in text, text)
    expect("consumers   1 of 4, each holds up to 1 frame\n" in text and f" {slow.pid} " in text, text)
    expect("metadata    up to 1 bytes of type x/1\n" in text and "slots       3 of 512 bytes" in text, text)
    end(slow)
    end(producer)
    refused(1, "no object 'seen'", "channel", "stat", "seen")


NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def why_no_other_user():
    """Why no command can be run as another user; None: it can."""
    if os.getuid() != 0:
        return "needs root, to be another user"
    try:
        subprocess.run([WARPWAY, "--version"], stdout=subprocess.DEVNULL, check=True, **NOBODY)
    except PermissionError:
        return "another user cannot run the command here"
    return None


def run_as_nobody(*arguments):
    """Runs a command as another user, who may use the broker."""
    named = {key: value for key, value in ENVIRONMENT.items() if key != "XDG_RUNTIME_DIR"}  # not that user's own broker
    opened = {FOLDER: 0o711, os.path.dirname(ADDRESS): 0o711, ADDRESS: 0o666}
    before = {path: stat.S_IMODE(os.stat(path).st_mode) for path in opened}
    for path, mode in opened.items():
        os.chmod(path, mode)
    told = subprocess.run([WARPWAY, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S, env=named,
                          **NOBODY)
    for path, mode in before.items():
        os.chmod(path, mode)
    return told


def stat_shows_less_to_users_who_may_not_read():
    if why := why_no_other_user():
        return why
    producer = producer_of("hidden", "--bytes", "8")
    for option in ("--json", "--numeric"):
        told = run_as_nobody("channel", "stat", option, "hidden")
        expect(told.returncode == 0 and told.stderr == "", str(told))
        if option == "--json":
            shown = {key: value for key, value in json.loads(told.stdout).items() if value is not None}
            expect(sorted(json.loads(told.stdout)) == sorted(STAT_KEYS), told.stdout)
            expect(shown == {"name": "hidden", "pid": producer.pid}, told.stdout)
        else:
            expect("owner       0, mode 0600\n" in told.stdout and "not shown to this user" in told.stdout, told.stdout)
    end(producer)
    return None


def a_consumer_that_is_stuck_is_evicted():
    """It holds a frame before the producer gets the next ones, and does not give it back."""
    producer = begun(*PUB, "--slots", "2", "--bytes", "8", "--evict-after", "0.01", "stuck", "-", stdin=subprocess.PIPE)
    stuck = begun(*SUB, "--rate", "0.001", "stuck")
    producer.stdin.write(bytes(8))
    producer.stdin.flush()
    while spoken("channel", "stat", "stuck")["consumers"][0]["held"] != 1:
        expect(producer.poll() is None and stuck.poll() is None, "one ended")
    producer.stdin.write(bytes(8 * 100))
    producer.stdin.flush()
    while True:
        told = spoken("channel", "stat", "stuck")
        expect(producer.poll() is None and stuck.poll() is None, "one ended")
        if told["published"] == 101:
            break
    expect([consumer["state"] for consumer in told["consumers"]] == ["evicted"], str(told))
    end(stuck)
    end(producer)


EVICTION_KEYS = "name number pid uid program frame waited_ns".split()


def stuck_consumer_of(name, *options):
    """Starts a producer that waits for a consumer, and both."""
    producer = producer_of(name, "--slots", "4", "--bytes", "8", *options)
    stuck = begun(*SUB, "--rate", "0.001", name)
    while spoken("channel", "stat", name)["waits_for"] != 0:
        expect(producer.poll() is None and stuck.poll() is None, "one ended")
    return producer, stuck


def an_operator_evicts_a_consumer():
    """The producer's program waits for exactly this consumer, in an acquire; then it goes on."""
    producer, stuck = stuck_consumer_of("operated")
    expect(spoken("channel", "stat", "operated")["consumers"][0]["state"] == "waited-for", "it is another state")
    for wrong in ("1", "31", "4000000000", "none"):
        refused(1, f"has no consumer '{wrong}'; see `warpway channel stat operated`", "channel", "evict", "operated",
                wrong)
    second = begun(*SUB, "--rate", "0.001", "operated")
    while len(spoken("channel", "stat", "operated")["consumers"]) != 2:
        expect(second.poll() is None, "it ended")
    refused(1, "2 consumers of operated are 'warpway'; name one by its number", "channel", "evict", "operated",
            "warpway")
    text = done("channel", "evict", "operated", "0").decode()
    expect(re.fullmatch(rf"evicted consumer 0, pid {stuck.pid} \(warpway\), after the producer had waited .* for it\n",
                        text), text)
    refused(1, f"consumer 0 of operated, process {stuck.pid} (warpway), was evicted already", "channel", "evict", "operated",
            "0")
    refused(1, "2 consumers of operated are 'warpway'", "channel", "evict", "operated", "warpway")
    told = spoken("channel", "evict", "--wait", "forever", "operated", str(second.pid))
    expect(sorted(told) == sorted(EVICTION_KEYS) and told["number"] == 1 and told["pid"] == second.pid, str(told))
    while True:
        told = spoken("channel", "stat", "operated")
        if told["published"] > 100:
            break
        expect(producer.poll() is None, "it ended")
    expect([consumer["state"] for consumer in told["consumers"]] == ["evicted", "evicted"], str(told))
    for consumer in (stuck, second):
        code, _, errors = end(consumer)
        expect(code == 0 and errors == b"", f"{code} {errors}")
    end(producer)


def an_evicted_consumer_is_told():
    producer, stuck = stuck_consumer_of("told")
    third = begun("channel", "sub", "told")
    while len(spoken("channel", "stat", "told")["consumers"]) != 2:
        expect(third.poll() is None, "it ended")
    done("channel", "evict", "told", str(third.pid))
    expect("evicted this consumer after frame" in ended(third, 1)[1], "it was not told")
    end(stuck)
    end(producer)


def a_producer_that_does_nothing_evicts_nobody():
    producer = begun(*PUB, "--bytes", "8", "--slots", "2", "idle", "-", stdin=subprocess.PIPE)
    consumer = begun(*SUB, "idle")
    while len(spoken("channel", "stat", "idle")["consumers"]) != 1:
        expect(consumer.poll() is None, "it ended")
    refused(1, f"process {producer.pid} (warpway), has not evicted consumer 0 in time", "channel", "evict", "--wait",
            "0.1", "idle", "0")
    producer.stdin.write(bytes(8 * 3))
    producer.stdin.close()
    expect("received  3 frames" in ended(consumer)[0], "a request that was given up counted")
    output, errors = producer.stdout.read(), producer.stderr.read()
    expect(producer.wait(LIMIT_S) == 0 and b"published 3" in output and errors == b"", f"{output} {errors}")


def only_the_owner_and_root_evict():
    if why := why_no_other_user():
        return why
    producer, stuck = stuck_consumer_of("owned", "--mode", "0644")
    told = run_as_nobody("channel", "evict", "owned", "0")
    expect(told.returncode == 1 and "only that user and root may" in told.stderr, str(told))
    expect(spoken("channel", "stat", "owned")["consumers"][0]["state"] != "evicted", "evicted by another user")
    end(stuck)
    end(producer)
    return None


def stat_counts_what_was_dropped():
    """Looking is no consuming: with one consumer possible, it stays the only one."""
    producer = producer_of("drops", "--policy", "drop-oldest", "--bytes", "64", "--consumers", "1")
    slow = begun(*SUB, "--rate", "0.001", "drops")
    while True:
        told = spoken("channel", "stat", "drops")
        consumer, = told["consumers"]
        if consumer["behind"] > told["slots"]:
            break
    expect(consumer["pid"] == slow.pid and consumer["held"] == 1 and not consumer["waited_for"], str(told))
    refused(1, "has 1 consumers already", "channel", "sub", "drops")
    end(slow)
    expect(spoken("channel", "stat", "drops")["consumers"] == [], "it is still there")
    end(producer)


# Ends

def an_interrupt_is_an_end():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        producer = producer_of("ended", "--bytes", "64", "--rate", "1000")
        consumer = begun("channel", "sub", "ended")
        stop(consumer, b"end       interrupted", number)
        stop(producer, b"published", number)
    waiting = producer_of("ended", "--wait-consumers", "1")
    line_of(waiting)
    stop(waiting, b"published 0 frames")


def an_interrupt_ends_the_wait_for_input():
    process = begun(*PUB, "--bytes", "64", "input", "-", stdin=subprocess.PIPE)
    stop(process, b"published 0 frames")


def a_killed_producer_is_told():
    producer = producer_of("killed", "--bytes", "64")
    consumer = begun("channel", "sub", "killed")
    producer.kill()
    output, errors = ended(consumer, 1)
    expect("end       lost" in output and f"process {producer.pid} (warpway), ended" in errors, f"{output} {errors}")


def a_name_is_replaced_when_asked():
    old = producer_of("twice", "--bytes", "64", "--rate", "100")
    refused(1, "'twice' is taken", *PUB, "twice")
    new = producer_of("twice", "--bytes", "128", "--rate", "100", "--replace")
    report = spoken("channel", "sub", "--count", "2", "twice")
    expect(report["bytes"] == 256, str(report))
    end(new)
    end(old)


# Recordings

def a_killed_recording_is_complete():
    """Each line that has an end names a file that is whole."""
    for number in (signal.SIGINT, signal.SIGKILL):
        folder = path_of(f"cut{number}")
        producer = producer_of("cut", "--bytes", "100K")
        recorder = recorder_of("cut", folder)
        line_of(recorder)
        while len(lines_of(folder)) < 20:
            expect(recorder.poll() is None, "it ended")
        code, _, errors = end(recorder, number)
        expect(code == (0 if number == signal.SIGINT else -number) and errors == b"", f"{code} {errors}")
        lines = lines_of(folder)
        expect(len(lines) >= 20, str(lines))
        expect(all(len(file_in(folder, line["file"])) == 102400 for line in lines), "a file is not whole")
        if number == signal.SIGINT:
            expect(sorted(os.listdir(folder)) == sorted([line["file"] for line in lines] +
                                                        ["channel.json", "frames.jsonl"]), str(os.listdir(folder)))
        end(producer)
        expect(replayed("again", folder, path_of(f"again{number}"), "--fast") == len(lines), "replay")


def replayed(name, folder, copy, *options):
    """Replays a recording, and records that. Returns how many frames there were."""
    player = start("channel", "replay", "--device", DEVICE, "--json", "--wait-consumers", "1", *options, name, folder)
    recorder = recorder_of(name, copy)
    frames = report_of(player)["frames"]
    expect(f"recorded {frames} frames" in ended(recorder)[0], "not all were recorded")
    return frames


def a_folder_that_is_in_use_is_refused():
    producer = producer_of("busy", "--bytes", "64")
    os.mkdir(path_of("full"))
    write("full/file", b"x")
    refused(2, "no empty folder", "channel", "record", "-o", path_of("full"), "busy")
    refused(2, "no empty folder", "channel", "record", "-o", path_of("full/file"), "busy")
    refused(1, "cannot make the folder", "channel", "record", "-o", path_of("no/such"), "busy")
    os.mkdir(path_of("empty"))
    done("channel", "record", "--count", "2", "-o", path_of("empty"), "busy")
    expect(len(lines_of(path_of("empty"))) == 2, "frames")
    end(producer)


def replay_gives_the_same_frames():
    first, second = path_of("first"), path_of("second")
    producer = start(*PUB, "--json", "--wait-consumers", "1", "--shape", "4,4", "--dtype", "int16", "--count", "6",
                     "--metadata", "m", "--rate", "1000", "played")
    recorder = recorder_of("played", first)
    report_of(producer)
    ended(recorder)
    for options in (["--speed", "1000"], ["--fast"], []):
        expect(replayed("played", first, second, *options) == 6, "frames")
        old, new = lines_of(first), lines_of(second)
        same = ("number", "file", "bytes", "shape", "metadata")
        expect([[line[key] for key in same] for line in old] == [[line[key] for key in same] for line in new], str(new))
        expect(all(file_in(first, line["file"]) == file_in(second, line["file"]) for line in old), "bytes")
        before, after = (json.loads(file_in(folder, "channel.json")) for folder in (first, second))
        same = "version name policy slots slot_bytes consumers_max held_max metadata_bytes metadata_type array".split()
        expect([before[key] for key in same] == [after[key] for key in same], f"{before} {after}")
        clear_folder(second)


def replay_keeps_the_time():
    """A frame never comes before its time; how late it comes is the machine's affair."""
    folder = path_of("timed")
    producer = producer_of("timed", "--bytes", "8")
    done("channel", "record", "--count", "3", "-o", folder, "timed")
    end(producer)
    lines = lines_of(folder)
    for i, line in enumerate(lines):
        line["submitted_ns"] = 10**9 + i * 200 * 10**6
    write("timed/frames.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    for options, least_s in (([], 0.4), (["--speed", "2"], 0.2)):
        report = spoken("channel", "replay", "--device", DEVICE, *options, "timed", folder)
        expect(report["frames"] == 3 and report["seconds"] >= least_s, str(report))


def clear_folder(folder):
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))


def replay_loops_until_interrupted():
    folder = path_of("first")
    player = start("channel", "replay", "--device", DEVICE, "--loop", "--fast", "--policy", "drop-oldest",
                   "--consumers", "8", "looped", folder)
    expect("policy drop-oldest" in line_of(player), "policy")
    expect(spoken("channel", "sub", "--count", "20", "looped")["frames"] == 20, "more than were recorded")
    stop(player, b"published")


def a_recording_is_not_trusted():
    folder = path_of("first")
    for name, old, new, words in (
            ("channel.json", b'"version": 1', b'"version": 2', "version 2"),
            ("channel.json", b'"policy": "block"', b'"policy": "none"', "its value is wrong"),
            ("channel.json", b'"metadata_bytes": 1', b'"metadata_bytes": 4097', "its value is wrong"),
            ("channel.json", b'"slots": 4', b'"slots": -4', "its value is wrong"),
            ("channel.json", b'"int16"', b'"int17"', "its value is wrong"),
            ("channel.json", b'{', b'', "cannot read the recording"),
            ("frames.jsonl", b'"000000000002.npy"', b'"../passwd"', "line 2 is no frame"),
            ("frames.jsonl", b'"bytes":32', b'"bytes":1000000', "line 1 is no frame"),
            ("frames.jsonl", b'"metadata":"6d"', b'"metadata":"6d6d"', "line 1 is no frame"),
            ("frames.jsonl", b'"metadata":"6d"', b'"metadata":"6"', "line 1 is no frame"),
            ("frames.jsonl", b'"bytes":32', b'"bytes":31', "has 32 bytes of a frame"),
            ("frames.jsonl", b'"shape":[]', b'"shape":[-1]', "line 1 is no frame"),
            ("000000000001.npy", b"(4, 4)", b"(4, 5)", ""),
            ("000000000001.npy", b"NUMPY", b"NUMPX", "000000000001.npy")):
        whole = file_in(folder, name)
        expect(old in whole, f"{name}: {whole}")
        write(os.path.join("first", name), whole.replace(old, new, 1))
        result = run("channel", "replay", "--device", DEVICE, "--json", "--fast", "bad", folder)
        write(os.path.join("first", name), whole)
        expect(result.returncode == 1 and words.encode() in result.stderr, f"{new}: {result}")
    write("first/frames.jsonl", b"")
    refused(1, "has no frames", "channel", "replay", "--json", "bad", folder)


def completion_completes():
    expect(completed("warpway chan") == ["channel"], "the verb")
    expect(completed("warpway channel re") == ["record", "replay"], str(completed("warpway channel re")))
    expect(completed("warpway channel pub --pol") == ["--policy"], "an option")
    expect(completed("warpway channel pub --policy ") == ["block", "drop-oldest", "latest"], "a policy")
    expect("--wait-consumers" in completed("warpway channel replay --wait"), "an option with two words")
    producer = producer_of("comp/a", "--bytes", "64")
    expect(completed("warpway channel sub comp") == ["comp/a"] == completed("warpway channel stat comp"), "a name")
    expect(completed("warpway channel record --count 1 -o x comp") == ["comp/a"], "a name behind options")
    expect(completed("warpway channel evict --wait 1 comp") == ["comp/a"], "a name")
    consumers = [begun(*SUB, "comp/a") for _ in range(2)]
    expect(completed("warpway channel evict comp/a ") == ["0", "1"], "consumers")
    for consumer in consumers:
        end(consumer)
    end(producer)
    expect(completed(f"warpway channel replay x {FOLDER}/fir") == [path_of("first")], "a folder")


def stat_counts_frames_of_a_work_queue():
    maker = subprocess.Popen([MAKER, DEVICE, "work/q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
    try:
        expect(line_of(maker).strip() == "ready", "the queue is there")
        for _ in range(2):  # the second finds what the first has found
            shown = json.loads(done("stat", "--json", "work/q"))["work_queue"]
            expect(shown == {
                "is_closed": False, "slots": 8, "slot_bytes": 4096, "producers": 1, "producers_max": 8, "consumers": 1,
                "consumers_max": 16, "attempts_max": 2, "available": 2, "claimed": 1, "failed": 1, "uncounted": 0,
                "published_total": 5, "acknowledged_total": 1, "repeated_total": 1, "failed_total": 1,
                "dropped_total": 0, "lost_total": 0}, str(shown))
        lines = done("stat", "work/q").decode().splitlines()
        for line in ("work        open", "slots       8 of each producer, of 4096 bytes (4.0 KiB)",
                     "attempts    up to 2 for each frame", "frames      2 available, 1 claimed, 1 failed and kept",
                     "totals      5 published, 1 acknowledged, 1 repeated, 1 failed, 0 dropped, 0 lost"):
            expect(line in lines, f"{line!r} in {lines}")
    finally:
        maker.communicate(timeout=LIMIT_S)
    expect(maker.returncode == 0, str(maker.returncode))


CASES = [stat_counts_frames_of_a_work_queue, wrong_use_is_refused, help_is_there, what_is_not_there_is_told, frames_come_whole, text_is_for_people,
         json_of_a_producer_is_there, a_wrong_frame_is_found, standard_input_is_cut_into_frames, files_are_frames,
         whoever_waits_for_consumers_loses_none_of_their_frames, stat_tells_all, stat_shows_less_to_users_who_may_not_read,
         a_consumer_that_is_stuck_is_evicted, an_operator_evicts_a_consumer, an_evicted_consumer_is_told,
         a_producer_that_does_nothing_evicts_nobody, only_the_owner_and_root_evict, stat_counts_what_was_dropped,
         the_newest_frame_is_for_whoever_comes, a_producer_that_waits_says_for_whom, an_interrupt_is_an_end,
         an_interrupt_ends_the_wait_for_input, a_killed_producer_is_told, a_name_is_replaced_when_asked,
         a_killed_recording_is_complete, a_folder_that_is_in_use_is_refused, replay_gives_the_same_frames,
         replay_keeps_the_time, replay_loops_until_interrupted, a_recording_is_not_trusted, completion_completes]

sys.exit(main(CASES))
