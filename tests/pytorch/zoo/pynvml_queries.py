"""Programs' queries of NVML through pynvml and torch.cuda: a name, memory, processes; load, power and heat read 0."""
import pynvml
import torch

torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
print("name", pynvml.nvmlDeviceGetName(handle))
print(f"memory: {pynvml.nvmlDeviceGetMemoryInfo(handle).total}")
print(f"count: {pynvml.nvmlDeviceGetCount()}")
print(f"utilization: {torch.cuda.utilization()}")
print(f"temperature: {torch.cuda.temperature()}")
print(f"power: {torch.cuda.power_draw()}")
print("processes", "process" in torch.cuda.list_gpu_processes())
print("used", torch.cuda.device_memory_used() >= 100 << 20)
