"""cuda.core: a kernel is compiled by NVRTC and launched with 64 MiB from a pool."""
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

CODE = 'extern "C" __global__ void k(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = 1; }'
device = Device()
device.set_current()
stream = device.create_stream()
program = Program(CODE, code_type="c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
kernel = program.compile("cubin", name_expressions=("k",)).get_kernel("k")
buffer = device.allocate(64 << 20, stream=stream)
launch(stream, LaunchConfig(grid=1, block=256), kernel, buffer, 256)
stream.sync()
print(device.name, buffer.size)
