#!/usr/bin/env python3
"""Random calls of the package with random arguments: python fuzz_calls.py SEED CALLS [THREADS]

Every call may raise an exception, but SystemError: this one says that the extension broke a rule of Python. The
process must neither crash nor hang. The same seed makes the same calls, with one thread and the same timing.

Left out is what may rightly wait for ever: streams that wait for what no one signals; and, with a real driver, what it
reads from without a look: numbers as CUstream, and as the source of a copy.

WW_TEST_TRACE=1 writes each call to stderr before it is made, so that the last line tells which one crashed.
"""
import array
import copy
import faulthandler
import gc
import importlib
import operator
import os
import pickle
import pkgutil
import random
import signal
import socket
import sys
import threading
import weakref

import warpway
import warpway._core as core
import warpway._ipc  # now: an exception in the middle of an import makes later ones wait for ever
import warpway._numpy
import warpway.aio

try:
    import numpy
except ImportError:
    pass

DEVICE = os.environ.get("WW_TEST_DEVICE", "host")
NUMBERS = [0, 1, 2, 3, 7, 8, 16, 255, 4096, 2**21, -1, -2, -(2**31), -(2**63), 2**31, 2**32, 2**62, 2**63 - 1, 2**63,
           2**64 - 1, 2**64, 10**30, 10**5000]  # fmt: skip
SIZES = [0, 1, 2, 3, 7, 8, 16, 255, 4096, 2**21]
WORDS = ["read", "write", "device", "host", "cuda:0", DEVICE, "sealed", "shared", "writing", "held", "owner", "kept", "a",
         "b/c", "float32", "uint8", "complex128", "<f4", "|b1", "|V16", "float4_e2m1fn", "bool", "", "a\0b", "\udc80",
         "x" * 300, "GPU-" + "0" * 36, "close", "ready"]  # fmt: skip
IS_TRACED = os.environ.get("WW_TEST_TRACE") == "1"
HAS_DRIVER = DEVICE.startswith("cuda") and "Fake" not in warpway.Device(DEVICE).name
STREAMS = [0, 1, 2]  # the handles that every driver knows: the default streams
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
LEFT_OUT = {"eventfd", "unsubmitted", "fileno"}
SPECIAL = ["__dlpack__", "__dlpack_device__", "__cuda_stream__", "__cuda_array_interface__", "__reduce__", "__array__",
           "__enter__", "__exit__", "__repr__", "__hash__", "__len__", "__getitem__", "__iter__", "__next__",
           "__sizeof__", "__dir__"]  # fmt: skip
WAITING = (warpway.Watch, warpway.Channel, warpway.WorkQueue)  # iterators that wait without a limit
CLASSES = [value for value in vars(core).values() if isinstance(value, type) and not issubclass(value, (Exception, tuple))]


def brief(value):
    """A text for the trace; it calls no method of an odd object."""
    if isinstance(value, int) and value.bit_length() > 100:
        return "a long int"
    if type(value) in (int, float, str, bytes, bool, slice, type(None)):
        return repr(value)[:60]
    if type(value) in (tuple, list):
        return "[" + ", ".join(map(brief, value)) + "]"
    return f"{type(value).__name__} at {id(value):#x}"


def trace(what, arguments=(), keywords={}):
    if IS_TRACED:
        texts = [*map(brief, arguments), *(f"{name}={brief(value)}" for name, value in keywords.items())]
        os.write(2, f"{threading.current_thread().name}: {what}({', '.join(texts)})\n".encode(errors="replace"))


def tamed(value):
    """What a driver may be given where it expects a stream."""
    return value % len(STREAMS) if isinstance(value, int) else value


class Alarm(BaseException):
    """Raised by a signal handler, at any point."""


class Fuzzer:
    """One thread of calls; all of them share the objects."""

    is_calling = False  # the main thread may be interrupted

    def __init__(self, seed, objects):
        self.random = random.Random(seed)
        self.objects = objects

    # --- values ---

    def mischief(self):
        """What an argument does while the extension asks it for something."""
        if self.random.random() < 0.5 and self.objects:
            getattr(self.random.choice(self.objects), "close", int)()
        if self.random.random() < 0.2:
            raise self.random.choice([KeyError("odd"), ValueError("odd"), TypeError("odd"), AttributeError("odd")])
        if self.random.random() < 0.1:
            gc.collect()

    def odd(self):
        """An object whose methods return wrong values."""
        fuzzer = self

        class Odd:
            def __index__(self):
                fuzzer.mischief()
                return fuzzer.random.choice((STREAMS if HAS_DRIVER else NUMBERS) + [self])

            def __len__(self):
                fuzzer.mischief()
                return fuzzer.random.choice([0, 1, 3, 16, 17, 1000])

            def __getitem__(self, key):
                fuzzer.mischief()
                if isinstance(key, int) and key > 20:
                    raise IndexError  # otherwise Python itself reads it for ever
                return fuzzer.random.choice([0, 1, 2, self, None, "x"])

            def __getattr__(self, name):
                fuzzer.mischief()
                if name in ("cuda_stream", "ptr", "value", "handle", "__cuda_stream__"):
                    return fuzzer.random.choice([0, 1, self, None, "x", (0, 0), (0,), lambda: (0, 1), lambda: self])
                if name in ("type", "name", "id", "device_id"):
                    return fuzzer.random.choice(SIZES + WORDS + [self])
                raise AttributeError(name)

            def __dlpack_device__(self):
                fuzzer.mischief()
                return fuzzer.random.choice([(1, 0), (2, 0), (3, 0), (1,), None, [1, 0], (99, -1), (2**40, 0), (2, -1)])

            def __dlpack__(self, **keywords):
                fuzzer.mischief()
                capsule = fuzzer.random.choice(fuzzer.objects)
                if hasattr(type(capsule), "__dlpack__"):
                    capsule = capsule.__dlpack__(max_version=fuzzer.random.choice([None, (1, 1)]))
                    fuzzer.objects.append(capsule)
                return capsule

            def __str__(self):
                fuzzer.mischief()
                return fuzzer.random.choice(WORDS)

            def __repr__(self):
                return self if fuzzer.random.random() < 0.1 else "odd"

            def __call__(self, *arguments):
                fuzzer.mischief()
                return fuzzer.random.choice(SIZES)

            __float__ = __index__

            def __fspath__(self):
                fuzzer.mischief()
                return fuzzer.random.choice(WORDS)

        return Odd()

    def buffer(self):
        kind = self.random.randrange(6)
        data = bytearray(self.random.choice([0, 1, 12, 64, 512, 4096]))
        if kind == 0:
            return bytes(data)
        if kind == 1:
            return memoryview(data)[::2]
        if kind == 2:
            view = memoryview(data)
            view.release()
            return view
        if kind == 3:
            return array.array("d", [1.5] * 4)
        return data

    def value(self, depth=0):
        kind = self.random.randrange(14)
        if kind < 3 and self.objects:
            chosen = self.random.choice(self.objects)
            return None if isinstance(chosen, WAITING) else chosen  # Python may iterate over it, for ever
        if kind == 3:
            return self.random.choice(NUMBERS)
        if kind == 4:
            return self.random.choice(SIZES)
        if kind == 5:
            return self.random.choice(WORDS)
        if kind == 6:
            return self.random.choice([0.0, 0.001, -1.0, float("nan"), float("inf"), 1e300, 1e-300])
        if kind == 7:
            return self.buffer()
        if kind == 8 and depth < 2:
            return tuple(self.value(depth + 1) for _ in range(self.random.randrange(4)))
        if kind == 9:
            return self.random.choice([slice(None), slice(1, None, -2), slice(0, 2**70), Ellipsis, True, object(), int,
                                       len, repr, {}, [1, 2], {1}, b"\1\0\0\0"])  # fmt: skip
        if kind == 10:
            return self.odd()
        if kind == 11:
            return [self.random.choice(SIZES) for _ in range(self.random.randrange(4))]
        return None

    # --- calls ---

    def make(self):
        """A new object, of arguments that are mostly good."""
        size = self.random.choice([1, 12, 4096])
        objects = self.objects
        makers = [
            lambda: warpway.zeros((3, 4), self.random.choice(["float32", "uint8", "bool"]), device=DEVICE),
            lambda: warpway.Memory(size, DEVICE),
            lambda: warpway.Pool(DEVICE, bytes_max=2**22),
            lambda: warpway.Stream(DEVICE),
            warpway.Timeline,
            warpway.Cancel,
            lambda: warpway.Event(DEVICE),
            lambda: warpway.Barrier(1),
            warpway.Broker,
            lambda: warpway.Broker().watch(),
            lambda: pickle.loads(pickle.dumps(self.random.choice(objects))),
            lambda: self.random.choice(objects).token(),
            lambda: memoryview(self.random.choice(objects)),
            lambda: self.random.choice(objects).__dlpack__(),
            lambda: weakref.ref(self.random.choice(objects), lambda reference: self.mischief()),
            lambda: copy.copy(self.random.choice(objects)),
            lambda: self.random.choice(objects)[::-1],
            lambda: next(o for o in objects if type(o) is warpway.Pool).empty(size),
            lambda: socket.socketpair(),
            lambda: warpway.Channel(None, (3, 4), "float32", device=DEVICE, metadata_bytes=8,
                                    policy=self.random.choice(["block", "drop-oldest", "latest"])),
            lambda: self.channel(True).token().open(),
            lambda: self.channel(True).acquire(timeout=0),
            lambda: self.channel(False).receive(timeout=0),
            lambda: warpway.WorkQueue(None, (3, 4), "float32", device=DEVICE, metadata_bytes=8, role=self.fitting("role")),
            lambda: self.queue().token("write"),
            lambda: warpway.WorkQueue.get(self.queue().token("write"), role=self.fitting("role")),
            lambda: self.queue("producer").acquire(timeout=0),
            lambda: self.queue("consumer").receive(timeout=0),
            self.service,
            lambda: warpway.Client(self.find(warpway.Service).token()),
            lambda: self.find(warpway.Client).submit("mischief", *[self.fitting("x") for _ in range(2)], timeout=0),
            lambda: self.find(warpway.Client).function("echo", timeout=0),
        ]
        maker = self.random.choice(makers)
        trace("make", [makers.index(maker)])
        made = maker()
        objects.extend(made if isinstance(made, tuple) else [made])

    def service(self):
        """One that a thread serves until it is closed."""
        service = warpway.Service(device=DEVICE, calls_max=4)
        service.offer("mischief", "f32[...] x read, any[...] y write", lambda x, y, call: self.mischief())
        service.offer("echo", "f64 a = 1, bytes b = none -> any[...] x", lambda a, b: self.value())
        service.offer("all", "f64 a = 1 -> f64 b", lambda a, call: self.value(), batch=2, batch_wait=0.001)
        threading.Thread(target=serve, args=(weakref.ref(service),), daemon=True).start()
        return service

    def find(self, kind):
        return next(o for o in self.objects if type(o) is kind and not o.closed)

    def channel(self, is_producer):
        return next(o for o in self.objects if type(o) is warpway.Channel and not o.closed and o.is_producer == is_producer)

    def queue(self, *roles):
        return next(o for o in self.objects if type(o) is warpway.WorkQueue and not o.closed and (not roles or o.role in roles))

    def fitting(self, name):
        """A value that a parameter of this name often accepts."""
        kinds = {"stream": warpway.Stream, "cancel": warpway.Cancel, "broker": warpway.Broker, "memory": warpway.Memory,
                 "obj": (warpway.Memory, warpway.Array, warpway.Timeline), "pool": warpway.Pool, "x": warpway.Array,
                 "depends_on": warpway.Ticket,
                 "source": warpway.Array, "destination": warpway.Array, "socket": socket.socket}  # fmt: skip
        if name in kinds:
            return self.random.choice([o for o in self.objects if isinstance(o, kinds[name])] or [None])
        words = {"device": [DEVICE, None], "access": ["read", "write"], "dtype": ["float32", "uint8"], "offset": [0, 1],
                 "shape": [(3, 4), 12, (0,)], "name": ["a", "b"], "data": [b"abc"], "buffer": [bytearray(8)],
                 "value": [0, 1, 2, 3, 1000], "rank": [None, 0], "parties": [1], "kind": ["device", "host"],
                 "policy": ["block", "drop-oldest", "latest"], "history": [0, 1, "all"], "role": ["keeper", "producer", "consumer", "failed"],
                 "state": ["sealed", "shared"], "escrow": [None, 0.01, 60],
                 "signature": ["f64 a", "", "f32[n] x read -> f32 y", None], "function": [len, self.mischief]}  # fmt: skip
        return self.random.choice(words.get(name, SIZES))

    def arguments(self, function):
        """Positional ones and keywords. What waits gets a short limit."""
        signature = getattr(function, "__text_signature__", None) or "(a=, b=)"
        words = [word.strip(" ()") for word in signature.split(",")]
        words = [word for word in words if word[:1] not in ("", "$", "/", "*") and word not in ("self", "type")]
        names = [word.split("=")[0] for word in words]
        value = lambda name: self.fitting(name) if self.random.random() < 0.7 else self.value()
        positional = [value(word) for word in words if "=" not in word]
        chosen = {name: value(name) for name in names[len(positional) :] if self.random.random() < 0.3}
        for name in LEFT_OUT:
            chosen.pop(name, None)
        if "timeout" in names:
            chosen["timeout"] = self.random.choice([0, 0.001, 0.01, -1, float("nan")])
        if "threads" in chosen:  # each is one of Python
            chosen["threads"] = self.random.choice([0, 1, 2, 7, -1, "x", None])
        if self.random.random() < 0.05:
            positional.append(self.value())
        if self.random.random() < 0.02:
            chosen["no such keyword"] = 1
        return positional, chosen

    def call(self):
        target = self.random.choice(self.objects + CLASSES + [core, warpway])
        names = [name for name in dir(target) if not name.startswith("_") and name not in LEFT_OUT]
        name = self.random.choice(names if names and self.random.random() < 0.9 else SPECIAL)
        if isinstance(target, (socket.socket, memoryview, weakref.ref)):
            return
        if target in (core, warpway) and name in ("bench", "aio", "sys"):
            return
        function = getattr(target, name)
        if not callable(function):
            return
        if name.endswith("_async"):
            arguments = [self.value() for _ in range(2)]
            trace(f"{brief(target)}.{name}", arguments)
            function(*arguments).close()
            return
        arguments, keywords = self.arguments(function)
        if name in ("send", "receive") and not isinstance(target, (warpway.Channel, warpway.WorkQueue)):
            arguments = [self.fitting("socket")]  # a number could be the descriptor of the broker
        if isinstance(target, warpway.Function) or isinstance(target, warpway.Client) and (
            name in ("call", "submit") or isinstance(function, warpway.Function)
        ):
            keywords["timeout"] = self.random.choice([0, 0.001, 0.01])  # the signature of such a call has none
            if name in ("call", "submit"):
                arguments = [self.random.choice(["echo", "mischief", "", "missing"]), *arguments]
        if name in ("__iter__", "__next__") and isinstance(target, WAITING):
            return  # it waits without a limit
        if name == "call":
            arguments = [self.random.choice([self.mischief, print_nothing, self.odd()])]
        if name == "set_log":
            arguments = [self.random.choice([None, print_nothing, fail_to_log])]
        if name == "wrap" and SANITIZED:
            return  # the library has the kernel look at the pointer, but the sanitizer looks first
        if name == "copy_in":
            return  # it copies from whatever the number points to
        if HAS_DRIVER and (target is warpway.Stream or "stream" in (getattr(function, "__text_signature__", None) or "stream")):
            arguments, keywords = [*map(tamed, arguments)], {key: tamed(value) for key, value in keywords.items()}
        trace(f"{brief(target)}.{name}", arguments, keywords)
        made = function(*arguments, **keywords)
        if type(made).__module__ == "warpway" and len(self.objects) < 80:
            self.objects.append(made)

    def operate(self):
        left, right = self.value(), self.value()
        function = self.random.choice([operator.eq, operator.lt, operator.getitem, isinstance, copy.deepcopy, hash, repr,
                                       bytes, memoryview, pickle.dumps, setattr, delattr, len, str])  # fmt: skip
        trace(function.__name__, [left, right])
        if function in (operator.eq, operator.lt, operator.getitem, isinstance):
            function(left, right)
        elif function in (setattr, delattr):
            function(left, *["close", right][: 2 if function is setattr else 1])
        elif not (function is bytes and isinstance(left, int)):
            function(left)

    def step(self):
        choice = self.random.random()
        if choice < 0.15 or len(self.objects) < 15:
            self.make()
        elif choice < 0.2 and self.objects:
            self.objects.pop(self.random.randrange(len(self.objects)))
        elif choice < 0.3:
            self.operate()
        else:
            self.call()

    def run(self, calls):
        is_main = threading.current_thread() is threading.main_thread()
        for _ in range(calls):
            try:
                try:
                    if is_main:
                        Fuzzer.is_calling = True
                    self.step()
                finally:  # inside of the other try: an alarm may come until it is done
                    if is_main:  # another thread might write back what it has read before
                        Fuzzer.is_calling = False
            except SystemError:
                raise
            except (Exception, Alarm):  # pylint: disable=broad-exception-caught
                pass


def serve(service):
    """Does not keep the service between calls of it."""
    try:
        while (found := service()) and not found.serve(timeout=0.01):
            del found
    except SystemError:
        raise
    except Exception:  # pylint: disable=broad-exception-caught
        pass


def fail_to_log(_line):
    """A function for the log; it is called inside of calls, so it may not use their objects."""
    raise ValueError("odd")


def print_nothing(*_arguments):
    """A function for logs and streams."""


def import_all():
    """Python may keep the lock of all imports for ever if a signal's handler has ended one of them."""
    for module in pkgutil.iter_modules(warpway.__path__):
        if module.name.startswith("_") and not module.name.startswith(("__", "_bench", "_demo")):
            importlib.import_module(f"warpway.{module.name}")
    for name in ("numpy", "ml_dtypes"):  # each import of a module that is not there would take the lock again
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = None


def raise_alarm(*_arguments):
    if Fuzzer.is_calling:
        raise Alarm


def main():
    seed, calls = int(sys.argv[1]), int(sys.argv[2])
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    faulthandler.enable()
    sys.unraisablehook = print_nothing
    sys.setrecursionlimit(300)
    import_all()
    signal.signal(signal.SIGALRM, raise_alarm)
    failures = []
    threading.excepthook = lambda arguments: failures.append(arguments.exc_value)
    objects = []
    others = [threading.Thread(target=Fuzzer(f"{seed}/{i}", objects).run, args=(calls,)) for i in range(1, threads)]
    for thread in others:
        thread.start()
    fuzzer = Fuzzer(seed, objects)
    if fuzzer.random.random() < 0.5:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    fuzzer.run(calls)
    signal.setitimer(signal.ITIMER_REAL, 0)
    for thread in others:
        thread.join()
    for failure in failures:
        raise failure
    if fuzzer.random.random() < 0.5:
        objects.clear()
    print("done")


if __name__ == "__main__":
    main()
