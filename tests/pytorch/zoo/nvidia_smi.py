"""nvidia-smi as programs call it: the used memory is that of the virtual card, with this process' context."""
import os
import subprocess

import torch


def ask(*arguments):
    return subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, check=True).stdout


x = torch.zeros(1 << 28, device="cuda")
free, total = torch.cuda.mem_get_info()
used, whole = ask("--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits", "-i", "0").split(", ")
print(f"used differs: {int(used) - (total - free) // (1 << 20)}")
print(f"total differs: {int(whole) - total // (1 << 20)}")
print("process", ask("--query-compute-apps=pid,used_memory", "--format=csv,noheader").split(" MiB")[0] == f"{os.getpid()}, {used}")
print("table", f"{used}MiB / " in ask() and str(os.getpid()) in ask())
