"""What the card reports about itself: properties, NVML through its library, memory in use as each of them counts it.

An H100 SXM of 80 GB: compute capability 9.0, 132 multiprocessors, 84,929,347,584 bytes. 100 MiB that PyTorch allocates
are 100 MiB less of free memory for the runtime and for NVML alike, because both read the same card.
"""
import ctypes
import os

import torch

torch.zeros(1, device="cuda")
properties = torch.cuda.get_device_properties(0)
print("name", properties.name)
print(f"multiprocessors: {properties.multi_processor_count}")
print(f"memory: {properties.total_memory}")
print("capability", torch.cuda.get_device_capability(), torch.cuda.is_bf16_supported(), torch.cuda.device_count())


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0
handle = ctypes.c_void_p()
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0
name = ctypes.create_string_buffer(96)
assert nvml.nvmlDeviceGetName(handle, name, 96) == 0
print("nvml", name.value.decode())


def free():
    memory = Memory()
    assert nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
    return torch.cuda.mem_get_info()[0], memory.free


before = free()
taken = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
after = free()
print(f"less by the runtime: {before[0] - after[0]}")
print(f"less by nvml: {before[1] - after[1]}")
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
print("available", torch.cuda.is_available())
