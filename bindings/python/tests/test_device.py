# SPDX-License-Identifier: Apache-2.0
"""Device: by index, name and UUID, and where CUDA_VISIBLE_DEVICES hides or reorders GPUs."""

import pytest

import warpway
from children import run_python


class Torch:
    """As torch.device."""

    def __init__(self, text):
        self.type, self._text = text.partition(":")[0], text

    def __str__(self):
        return self._text


class Numbered:
    """As a device of cuda.core, CuPy or Numba."""

    def __init__(self, **names):
        vars(self).update(names)


def test_host():
    host = warpway.Device("host")
    assert host == warpway.Device("cpu") == warpway.Device(Torch("cpu")) == warpway.Device(host)
    assert (host.backend, host.selector) == ("host", "host") and hash(host) == hash(warpway.Device("host"))
    assert warpway.Device.count("host") == 1


def test_what_is_no_device():
    for name in (-1, "cuda:-1", "cuda:x", "GPU-x", "gpu"):
        with pytest.raises(warpway.InvalidArgument):
            warpway.Device(name)
    for thing in (0.5, object(), [0], Numbered(id="0")):
        with pytest.raises(TypeError, match="a device is"):
            warpway.Device(thing)
    with pytest.raises(warpway.NoDevice):
        warpway.Device(warpway.Device.count())


def test_gpu_by_index_name_and_uuid(gpu):
    gpu = warpway.Device(gpu)
    index, uuid = gpu.index, gpu.uuid
    assert (gpu.backend, gpu.selector) == ("cuda", f"cuda:{index}")
    ways = [index, f"cuda:{index}", uuid, f"cuda:{uuid}", Torch(f"cuda:{index}"), Numbered(id=index), Numbered(device_id=index)]
    assert {warpway.Device(way) for way in ways} == {gpu}
    assert warpway.Device("cuda") == warpway.Device(0)


def test_visible_devices(gpu):
    """The UUID is the same in every process, the index is not; memory is found on the GPU that has it."""
    count = warpway.Device.count()
    last = warpway.Device(count - 1)
    array = warpway.zeros(4, "uint8", device=last)
    array.copy_from(b"abcd")
    code = ("import sys, warpway\n"
            "array = warpway.Token(sys.argv[2]).open()\n"
            "print(warpway.Device.count(), warpway.Device(0).uuid, array.device.index, array.memory.read(nbytes=4))\n"
            "print(warpway.Device(sys.argv[1]).index)")
    for visible in (last.uuid, str(count - 1)):
        assert run_python(code, last.uuid, array.token().text, CUDA_VISIBLE_DEVICES=visible) == f"1 {last.uuid} 0 {b'abcd'}\n0\n"


REFUSED = ("import sys, warpway\n"
           "print(*[warpway.Device().backend for _ in range(int(sys.argv[2]))])\n"
           "try:\n"
           "    warpway.Token(sys.argv[1]).open(device=sys.argv[3] or None).pointer\n"
           "except warpway.Unsupported as error:\n"
           "    print(error)")


@pytest.mark.parametrize("visible", ["-1", "", "GPU-00000000-0000-0000-0000-000000000000"])
def test_no_gpu_is_visible(gpu, visible):
    with warpway.zeros(4, "uint8", device=gpu) as array:
        said = run_python(REFUSED, array.token().text, "0", "", CUDA_VISIBLE_DEVICES=visible)
    assert f'this process sees no GPU, because CUDA_VISIBLE_DEVICES is "{visible}", which shows no GPU' in said


def test_a_gpu_is_visible_after_all(gpu):
    """What hid it before is not said any more."""
    if not warpway.Device(gpu).name.startswith("Fake"):
        pytest.skip("only the fake driver fails when it is told to")
    with warpway.zeros(4, "uint8", device=gpu) as array:
        for looks, backends, why in (("1", "host", "sees no GPU, because the NVIDIA driver does not start"),
                                     ("2", "host cuda", "the CPU cannot map it")):
            said = run_python(REFUSED, array.token().text, looks, "host", FAKECUDA_FAIL="cuInit:1:999").splitlines()
            assert said[0] == backends and why in said[1]
