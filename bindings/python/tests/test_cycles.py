# SPDX-License-Identifier: Apache-2.0
"""Cycles of references by way of this package's objects are collected."""

import gc
import weakref

import pytest
import warpway
from children import run_python


class Owner:
    """Owns bytes, and what stands for them."""


def make_owner():
    made = Owner()
    made.base = warpway.Memory(1 << 21, "host")
    return made


def wrap(owner):
    return warpway.Memory.wrap(owner.base.pointer, 4096, "host", keep=owner)


def is_collected(reference):
    gc.collect()
    return reference() is None


def test_cycle_by_keep():
    owner = make_owner()
    owner.memory = wrap(owner)
    reference = weakref.ref(owner)
    owner.memory.write(b"abc")
    assert owner.memory.read(nbytes=3) == b"abc" and owner.memory.nbytes == 4096
    del owner
    assert is_collected(reference)


def test_cycle_by_an_array():
    owner = make_owner()
    owner.views = [wrap(owner).array(16, "uint8")[::2], wrap(owner).array(16, "uint8")]
    reference = weakref.ref(owner)
    del owner
    assert is_collected(reference)


def test_cycle_of_a_closed_memory():
    owner = make_owner()
    owner.memory = wrap(owner)
    owner.memory.close()
    reference = weakref.ref(owner)
    del owner
    assert is_collected(reference)


def test_no_cycle_while_a_buffer_needs_the_bytes():
    owner = make_owner()
    owner.memory = wrap(owner)
    owner.base.write(b"abc")
    reference, view = weakref.ref(owner), memoryview(owner.memory)
    del owner
    assert not is_collected(reference)
    assert bytes(view[:3]) == b"abc" and reference().base.closed is False
    owner = reference()
    view.release()
    owner.memory.close()
    del owner
    assert is_collected(reference)


@pytest.mark.parametrize("name", ["array", "find", "tensor", "token"])
def test_no_cycle_while_others_need_the_bytes(name):
    owner = make_owner()
    owner.memory = memory = wrap(owner)
    memory.write(b"abc")
    if name == "array":
        other = memory.array(3, "uint8")
    elif name == "find":
        other = warpway.Memory.find(memory.pointer)[0].array(3, "uint8")
    elif name == "tensor":
        other = warpway.from_dlpack(memory.array(3, "uint8"))
    else:
        other = memory.token().open().array(3, "uint8")
    reference = weakref.ref(owner)
    del owner, memory
    assert not is_collected(reference)
    assert bytes(other) == b"abc" and not reference().base.closed


def test_what_is_kept_goes_with_its_memory():
    owner = make_owner()
    memory = wrap(owner)
    reference = weakref.ref(owner)
    del owner
    assert not is_collected(reference)
    del memory
    assert is_collected(reference)


def test_cycle_by_a_stream(gpu):
    owner = Owner()
    owner.stream = warpway.Stream(gpu)
    owner.__cuda_stream__ = owner.stream.__cuda_stream__()
    owner.wrapped = warpway.Stream.wrap(owner, gpu)
    reference = weakref.ref(owner)
    del owner
    assert is_collected(reference)


def test_the_collector_sees_what_is_kept():
    owner = make_owner()
    memory = wrap(owner)
    assert any(found is owner for found in gc.get_referents(memory))
    array = memory.array(1, "uint8")
    assert any(found is memory for found in gc.get_referents(array))
    assert gc.is_tracked(memory) and gc.is_tracked(array)


@pytest.mark.parametrize("made", ["Channel(None, slot_bytes=4096", "WorkQueue(None, slot_bytes=4096", "Service(None"])
def test_cycle_that_lasts_to_the_end_of_python(device, made):
    program = f"""
        import warpway

        class Owner:
            def __init__(self):
                self.owner = self
                self.made = warpway.{made}, device={device!r})

        owner = Owner()
        owner.end = lambda: owner
        import unittest  # many modules end after the package's own
    """
    assert run_python(program) == ""
