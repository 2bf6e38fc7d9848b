"""The package as a whole: what importing it costs, what it uses, that all of it is documented."""
import ctypes
import importlib.metadata
import inspect
import json
import os
import shutil
import subprocess
import types
from pathlib import Path

import pytest

import warpway
from children import run_python

BASES = {
    "Error": Exception,
    "InvalidArgument": ValueError,
    "OutOfMemory": MemoryError,
    "LimitReached": warpway.Error,
    "Unsupported": warpway.Error,
    "NoDevice": warpway.Error,
    "AccessDenied": PermissionError,
    "ProtocolError": warpway.Error,
    "PeerLost": ConnectionError,
    "Forked": RuntimeError,
    "NotFound": LookupError,
    "AlreadyExists": FileExistsError,
    "QuotaExceeded": warpway.Error,
    "WrongState": warpway.Error,
    "CallError": warpway.Error,
    "NoBroker": ConnectionError,
    "EndOfChannel": EOFError,
    "Evicted": ConnectionError,
    "Unavailable": ConnectionError,
    "DependencyFailed": warpway.Error,
    "Timeout": TimeoutError,
    "Cancelled": warpway.Error,
}

PUBLIC = sorted(name for name, value in vars(warpway).items()
                if not name.startswith("_") and not isinstance(value, types.ModuleType))


def members():
    """(class, name) of all that the public classes define themselves."""
    for name in PUBLIC:
        value = getattr(warpway, name)
        if isinstance(value, type) and not issubclass(value, Exception):
            for member in vars(value):
                if not member.startswith("_") and not member.startswith("n_"):  # n_fields: named tuples have it
                    yield name, member


def test_import_loads_neither_numpy_nor_cuda():
    said = run_python("import sys, warpway; print(*sys.modules); print(open('/proc/self/maps').read())")
    modules, _, maps = said.partition("\n")
    assert "warpway._core" in modules.split()
    assert not {"numpy", "torch", "cupy", "numba", "cuda", "jax", "ctypes", "asyncio"} & set(modules.split())
    assert "libwarpway.so.0" in maps
    assert "libcuda" not in maps


def test_import_starts_no_thread_and_opens_no_file():
    said = run_python("import os; before = os.listdir('/proc/self/fd')\n"
               "import warpway; print(len(os.listdir('/proc/self/task')), os.listdir('/proc/self/fd') == before)")
    assert said == "1 True\n"


def test_free_threaded_build_says_why_it_is_refused():
    """Such a Python finds no extension of the stable ABI."""
    said = run_python("import sys; sys.abiflags += 't'; sys.modules['warpway._core'] = None\n"
               "try: import warpway\n"
               "except ImportError as error: print(error)")
    assert "needs the GIL" in said and "free-threaded" in said


def test_log_reaches_logging(device, caplog):
    caplog.set_level("DEBUG", logger="warpway")
    try:
        warpway.enable_logging()
        warpway.Memory(1, device).close()
        with pytest.raises(warpway.Error):
            warpway.Broker().get("logged/name")
    finally:
        warpway.set_log(None)
    assert {(record.name, record.levelname) for record in caplog.records} == {("warpway", "DEBUG")}


def test_library_is_the_one_of_this_package():
    expected = os.environ.get("WW_TEST_LIBRARY") or Path(warpway.__file__).with_name("libwarpway.so.0")
    assert os.path.samefile(warpway.library_path(), expected)


def test_library_that_is_loaded_already_is_used(tmp_path):
    """Such as that of a system, by another extension: a process has one, and it says which."""
    other = shutil.copy(warpway.library_path(), tmp_path / "libwarpway.so.0")
    said = run_python(f"import ctypes; ctypes.CDLL({str(other)!r}); import warpway; print(warpway.library_path())\n"
               "print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libwarpway' in line})")
    assert said.splitlines() == [str(other)] * 2


def test_version_is_that_of_the_build():
    expected = os.environ.get("WW_TEST_VERSION") or importlib.metadata.version("warpway")
    assert warpway.__version__ == expected
    assert warpway.library_version() == expected


def check_broker(tool, daemon):
    """The broker that serves now runs this file."""
    said = subprocess.run([tool, "serve", "--status", "--json"], check=True, capture_output=True, text=True).stdout
    assert os.path.samefile(f"/proc/{json.loads(said)['pid']}/exe", daemon)


def test_tool_starts_the_broker_of_this_package(tool, no_broker):
    subprocess.run([tool, "serve"], check=True, env={**os.environ, "PATH": "/nowhere"}, stdout=subprocess.DEVNULL)
    check_broker(tool, os.environ.get("WARPWAYD") or Path(tool).with_name("warpwayd"))


def test_library_starts_the_broker_of_this_package(tool, no_broker):
    library = ctypes.CDLL(warpway.library_path())
    broker = ctypes.c_void_p()
    assert library.ww_broker_open(None, ctypes.byref(broker)) == 0
    try:
        check_broker(tool, os.environ.get("WARPWAYD") or Path(warpway.__file__).with_name("warpwayd"))
    finally:
        library.ww_broker_unref.restype = ctypes.c_void_p
        library.ww_broker_unref(broker)


@pytest.mark.parametrize("name", sorted(BASES))
def test_exception_is_also_the_one_that_users_expect(name):
    error = getattr(warpway, name)
    assert issubclass(error, BASES[name])
    assert issubclass(error, warpway.Error)
    assert error.__module__ == "warpway"
    made = error("text")
    assert str(made) == "text"
    assert (made.domain, made.native, made.message) == ("warpway", 0, "")
    assert isinstance(made.status, int) and isinstance(made.status_name, str)


def test_every_exception_is_listed_here():
    found = {name for name in PUBLIC if isinstance(getattr(warpway, name), type)
             and issubclass(getattr(warpway, name), Exception)}
    assert found == set(BASES)


def test_every_public_name_has_a_docstring():
    assert warpway.__doc__
    callables = [name for name in PUBLIC if callable(getattr(warpway, name))]
    assert [name for name in callables if not getattr(warpway, name).__doc__] == []
    assert [member for member in members() if not getattr(getattr(warpway, member[0]), member[1]).__doc__] == []


def has_signature(function):
    try:
        return bool(inspect.signature(function))
    except ValueError:
        return False


def test_help_shows_the_arguments_of_constructors():
    classes = [value for name in warpway.__all__ if isinstance(value := getattr(warpway, name), type)]
    unknown = {each.__name__ for each in classes if not issubclass(each, Exception) and not has_signature(each)}
    assert unknown == {"Call", "Function", "Ticket", "Watch"}  # calls return them
