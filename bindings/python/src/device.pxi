# SPDX-License-Identifier: Apache-2.0
# warpway.Device: a GPU, or the CPU as a device

# In the order of the bits WW_CAN_; None: the package loads no modules.
DEVICE_CAPABILITIES = ("export", "host_memory", "host_read_only", "cpu_access", "stream_wrap", "many_processes",
                       "stream_value", "event", "event_imported", "foreign", None, "graph")


cdef struct FreeBytes:
    ww_device *device
    uint64_t bytes


cdef ww_status run_device_free_bytes(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <FreeBytes *>call
    return ww_device_free_bytes(args.device, &args.bytes)


cdef public object device_object(core *unused, ww_device *device):
    """A Device, which takes over the reference."""
    cdef Device self = Device.__new__(Device)
    self.object = device
    return self


@cython.final
cdef class Device:
    """Device(device=None)\n--\n
    A GPU, or the CPU as a device.

    Parameters
    ----------
    device : None, int, str, Device or a device of another library
        The index of a GPU; 'host' or 'cpu'; 'cuda:0'; the UUID of a GPU as nvidia-smi -L prints it;
        a device of torch, CuPy, Numba or cuda.core. None: the first GPU that can be used,
        else the host device. Indices count as CUDA_VISIBLE_DEVICES says.

    Opening a device makes no CUDA context.

    Raises
    ------
    NoDevice
        There is no such device, or no working driver.
    """
    cdef object __weakref__
    cdef void *object

    def __init__(self, device=None):
        opened = convert_device(python_core, device)
        handle_close(self, &device_class)
        self.object = opened

    def __dealloc__(self):
        handle_close(self, &device_class)

    @classmethod
    @cython.binding(True)
    def count(cls, backend="cuda"):
        """How many devices of a backend ('cuda' or 'host') this process sees.

        0 where there is no driver.
        """
        cdef uint32_t count = 0
        cdef ww_status status
        cdef uint32_t which = index_of(backend, "backend", ("host", "cuda")) + WW_BACKEND_HOST
        with nogil:
            status = ww_device_count(which, &count)
        if status == WW_ERR_NO_DEVICE:
            return 0
        check(status)
        return count

    @property
    def name(self):
        """str: the product's name, such as 'NVIDIA H200'."""
        return text(device_info(self).name)

    @property
    def selector(self):
        """str: what opens this device in this process: 'cuda:0', 'host'."""
        return text(device_info(self).selector)

    @property
    def driver(self):
        """str: version of the driver; of the kernel on the host device."""
        return text(device_info(self).driver)

    @property
    def backend(self):
        """str: 'cuda' or 'host'."""
        return "cuda" if device_info(self).backend == WW_BACKEND_CUDA else "host"

    @property
    def index(self):
        """int: the N of 'cuda:N'; 0 on the host device."""
        return device_info(self).index

    @property
    def uuid(self):
        """str: the same in every process; of a GPU as nvidia-smi prints it."""
        info = device_info(self)
        return ("GPU-" if info.backend == WW_BACKEND_CUDA else "") + uuid_text(info.uuid)

    @property
    def mps(self):
        """str: 'on', 'off' or 'unknown': whether CUDA's multi-process service is used."""
        return word(device_info(self).mps, ("unknown", "off", "on")) or "unknown"

    @property
    def capabilities(self):
        """set of str: such as 'export' and 'stream_value'; see warpway/device.h."""
        bits = device_info(self).capabilities
        return {name for i, name in enumerate(DEVICE_CAPABILITIES) if name and bits >> i & 1}

    @property
    def granularity(self):
        """int: bytes; sizes of device memory are multiples of it."""
        return device_info(self).granularity

    @property
    def total_bytes(self):
        """int: bytes of device memory in all."""
        return device_info(self).bytes_total

    @property
    def free_bytes(self):
        """int: bytes of device memory that are free now. On a GPU this makes a CUDA context."""
        cdef FreeBytes call
        call.device = <ww_device *>handle_borrow(self, &device_class)
        try:
            check(wait_direct(run_device_free_bytes, &call))
        finally:
            handle_return(&device_class, call.device)
        return call.bytes

    def __repr__(self):
        info = device_info(self)
        return f"<warpway.Device {text(info.selector)} {text(info.name)}>"

    # The same device opened twice is one object of the library.
    def __eq__(self, other):
        return self.object == (<Device>other).object if isinstance(other, Device) else NotImplemented

    def __hash__(self):
        return <Py_ssize_t>self.object >> 4


cdef str uuid_text(const uint8_t *uuid):
    digits = (<const char *>uuid)[:WW_DEVICE_UUID_BYTES].hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


cdef ww_device_info device_info(Device self) except *:
    cdef ww_device_info info
    if not self.object:
        handle_borrow(self, &device_class) # says that it is closed
    CLEAR(info)
    check(ww_device_info_get(<ww_device *>self.object, &info))
    return info
