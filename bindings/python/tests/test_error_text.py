# SPDX-License-Identifier: Apache-2.0
"""Messages of the library name what a user of Python can call."""

import pickle
import re
from pathlib import Path

import pytest

import warpway

SOURCE = Path(__file__).parents[3] / "src"
TABLE = Path(__file__).parents[1] / "src" / "error_text.c"
NAME = re.compile(r"\b(?:ww_[a-z0-9_]+(?:\.[a-z_]+)?(?:\(\))?|WW_[A-Z0-9_]+)")

# What a caller of C alone can do wrong: NULL where something is needed, a struct that is not as it must be, an
# array's description. The package makes these itself.
ONLY_C = re.compile(
    r"^ww_\w+: |^%s: |is NULL|struct_size|reserved|sizeof|^ww_\w+_(info|params|event|which)$|^ww_(array|frame)$|^ww_channel_|^ww_work_"
    r"|^ww_scalar_(parse|text)$|^ww_service_params.(%s|version|builtin) "
)
# Calls that the package does not make so that they can fail in this way.
UNREACHED = {
    "WW_EXPORT_DELIVERY",  # pickles and tokens always have uses
    "ww_export_params.offset",  # the token of a pool has none
    "ww_consumer_params.flags",
    "WW_CAP_MODULE",
    "WW_GRAPH_SIGNAL",  # these words are checked before
    "WW_GRAPH_WAIT",
    "ww_object_get()",
    "WW_IMPORT_",
    "ww_function_params.flags",
    "WW_OK",  # a Ticket reads the results of a call that has ended well
    "WW_LIFE_",  # these words are checked before
    "WW_SNAPSHOT_HOLDERS",  # Broker.totals() lists nothing
    "WW_SNAPSHOT_OBJECTS",
    "ww_broker_totals",
    "ww_device_total",
    "ww_largest_params",
    "ww_request_total",
    "ww_user_total",
    "WW_WORK_QUEUE_",
    "WW_WORK_QUEUE_CONSUMER",
    "WW_WORK_QUEUE_FAILED",
    "WW_WORK_QUEUE_PRODUCER",
}


def messages():
    """The strings in the library's source; adjacent ones are one. src/mpi is another library."""
    for path in sorted(SOURCE.rglob("*.c")):
        if path.name.endswith("_test.c") or path.parent.name == "mpi":
            continue
        code = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        code = re.sub(r'"\s*(?:PRI\w+\s*)?"', "", code)
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
            yield path.name, text


@pytest.mark.skipif(not SOURCE.is_dir() or not TABLE.is_file(), reason="the library's source is not here")
def test_every_name_in_a_message_is_known():
    known = set(re.findall(r'^\t\{"([^"]+)"', TABLE.read_text(encoding="utf-8"), flags=re.M))
    assert len(known) > 20
    found, missing = set(), {}
    for file, text in messages():
        if not ONLY_C.search(text) and text != "WW_UNKNOWN":
            names = set(NAME.findall(text)) - UNREACHED
            found |= names
            missing.update({name: f"{file}: {text}" for name in names - known})
    assert not missing, "bindings/python/src/error_text.c lacks these"
    assert known == found, "names that no message has"


def refused(call):
    with pytest.raises(warpway.Error) as caught:
        call()
    message = caught.value.message
    assert message == str(caught.value) and not NAME.search(message), message
    return message


def test_limits_in_flight(device):
    warpway.revoke_in_flight()
    array = warpway.zeros(4, "uint8", device=device)
    warpway.limit_in_flight(count=1)
    try:
        pickle.dumps(array)
        message = refused(lambda: pickle.dumps(array))
        assert "warpway.revoke_in_flight()" in message and "warpway.limit_in_flight()" in message
    finally:
        warpway.limit_in_flight()
        warpway.revoke_in_flight()


def test_a_slice_by_name(device):
    with warpway.Pool(device) as pool, warpway.Broker() as broker:
        array = pool.empty(4, "uint8")
        for given in {"life": "kept"}, {"state": "sealed"}:
            message = refused(lambda given=given: broker.put("error/slice", array, **given))
            assert "put a copy" in message


def test_a_tensor_for_reading_only(device):
    reader = warpway.zeros(4, "uint8", device=device).token("read").open()
    with pytest.raises(BufferError, match=r"max_version=\(1, 0\)") as caught:
        reader.__dlpack__()
    assert not NAME.search(str(caught.value))


def test_a_write_to_what_is_sealed(device):
    array = warpway.zeros(4, "uint8", device=device)
    with warpway.Broker() as broker:
        broker.put("error/sealed", array)
        message = refused(lambda: broker.get("error/sealed", access="write", device=device))
        broker.remove("error/sealed")
    assert "access='read'" in message


def test_a_slice_that_was_released(device):
    with warpway.Pool(device) as pool:
        array = pool.empty(4, "uint8")
        data = pickle.dumps(array)
        array.close()
        warpway.revoke_in_flight()
        assert "warpway" not in refused(lambda: pickle.loads(data)).lower().replace("warpway.", "")
