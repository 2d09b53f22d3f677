"""The other processes on a card, as the driver (NVML) lists them."""
import ctypes
import os

_BUS_ID_BYTES, _NAME_BYTES, _MOST = 32, 256, 64
_TOO_FEW, _UNKNOWN = 7, 2**64 - 1  # NVML_ERROR_INSUFFICIENT_SIZE, NVML_VALUE_NOT_AVAILABLE


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t."""

    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gpu", ctypes.c_uint), ("compute", ctypes.c_uint)]


def others(device):
    """Rows of the other processes with memory of the device; none if this process is not in the driver's list, because
    then its process ids are those of another namespace."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    if nvml.nvmlInit_v2() != 0:
        return []
    try:
        found = _list(nvml, _handle(nvml, device))
        own = os.getpid()
        if all(process.pid != own for process in found):
            return []
        rows = [{"pid": process.pid, "name": _name(nvml, process.pid)} | ({} if process.used == _UNKNOWN else {"used": process.used})
                for process in found if process.pid != own]
        return sorted(rows, key=lambda row: -row.get("used", 0))
    finally:
        nvml.nvmlShutdown()


def _handle(nvml, device):
    """NVML's handle of the device, which numbers the cards of the machine, not those that the process sees."""
    cuda = ctypes.CDLL("libcuda.so.1")
    number, handle = ctypes.c_int(), ctypes.c_void_p()
    bus = ctypes.create_string_buffer(_BUS_ID_BYTES)
    _check(cuda.cuDeviceGet(ctypes.byref(number), device))
    _check(cuda.cuDeviceGetPCIBusId(bus, _BUS_ID_BYTES, number))
    _check(nvml.nvmlDeviceGetHandleByPciBusId_v2(bus, ctypes.byref(handle)))
    return handle


def _list(nvml, handle):
    get = getattr(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", None) or nvml.nvmlDeviceGetComputeRunningProcesses_v2
    rows, n = (_Process * _MOST)(), ctypes.c_uint(_MOST)
    status = get(handle, ctypes.byref(n), rows)
    if status == _TOO_FEW:
        return []
    _check(status)
    return rows[: n.value]


def _name(nvml, pid):
    name = ctypes.create_string_buffer(_NAME_BYTES)
    status = nvml.nvmlSystemGetProcessName(ctypes.c_uint(pid), name, _NAME_BYTES)
    return name.value.decode(errors="replace") if status == 0 else ""


def _check(status):
    if status != 0:
        raise OSError(f"the driver answers {status}")
