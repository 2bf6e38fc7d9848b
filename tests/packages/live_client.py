#!/usr/bin/python3
"""live_client.py - a process with objects in a broker that lives while packages are upgraded

It puts one array that stays and one that is its own, and creates a timeline. For each line it reads, it looks whether
all is as before, has the broker do something new, and prints "ok" or what is wrong.
"""
import os
import sys

import numpy
import warpway

broker = warpway.Broker()
kept = warpway.zeros(1000, "int64", device="host")
mine = warpway.zeros(1000, "int64", device="host")
broker.put("live/kept", kept, life="kept", state="shared", mode=0o666)
broker.put("live/mine", mine, life="owner", state="shared", mode=0o666)
print("ok", flush=True)
for count, line in enumerate(sys.stdin, 1):
    try:
        numpy.asarray(kept)[:] += 1
        numpy.asarray(mine)[:] -= 1
        for name, value in ("live/kept", count), ("live/mine", -count):
            found = warpway.Broker().get(name, device="host", timeout=60)
            assert (numpy.asarray(found) == value).all(), f"{name} is not {value}"
        fresh = warpway.zeros(10, "int64", device="host")
        broker.put(f"live/fresh-{count}", fresh)
        with open(f"/proc/{os.getpid()}/maps", encoding="ascii") as maps:
            library = next(line.split(maxsplit=5)[5].strip() for line in maps if "libwarpway.so" in line)
        print("ok", library, flush=True)
    except (AssertionError, warpway.Error) as error:
        print(repr(error), flush=True)
