"""The programs of ./dev programs, the environments that they need, and what is expected of each."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Environment:
    """Packages of pip, or of npm, in a folder of their own.

    with_pytorch: it sees the PyTorch of ./dev pytorch beside them.
    libraries: another environment, whose libraries of NVIDIA its programs find.
    """
    packages: tuple
    tool: str = "pip"
    with_pytorch: bool = False
    libraries: str = ""


PYTORCH = "pytorch"  # the environment of ./dev pytorch itself

ENVIRONMENTS = {
    "vllm": Environment(("vllm==0.33.0",)),
    "sglang": Environment(("sglang==0.5.23",), with_pytorch=True),
    "llama": Environment(("@fugood/llama.node@1.7.15", "@fugood/node-llama-linux-x64-cuda@1.7.15"), tool="npm",
                         libraries="faiss"),
    "models": Environment(("transformers==5.24.0", "accelerate==1.15.0", "bitsandbytes==0.50.2", "diffusers==0.42.1", "deepspeed==0.19.8"),
                          with_pytorch=True),
    "jax": Environment(("jax[cuda13]==0.10.2",)),
    "cupy": Environment(("cupy-cuda13x==14.2.0", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cublas", "nvidia-cufft",
                         "nvidia-cusolver", "nvidia-curand", "nvidia-nvjitlink")),
    "ctranslate2": Environment(("ctranslate2==4.8.5",)),
    "bindings": Environment(("numba-cuda[cu13]==0.30.4", "cuda-core==1.2.2", "cuda-bindings", "nvidia-cuda-nvrtc")),
    "onnx": Environment(("onnxruntime-gpu[cuda,cudnn]==1.31.1", "onnx")),
    "faiss": Environment(("faiss-gpu-cu12==1.14.1.post1", "numpy", "nvidia-cuda-runtime-cu12", "nvidia-cublas-cu12", "nvidia-nccl-cu12")),
    "xgboost": Environment(("xgboost==3.2.0",)),
    "pycuda": Environment(("pycuda==2026.1",)),
    "tools": Environment(("gpustat==1.1.1", "nvitop==1.7.2")),
}


@dataclass(frozen=True)
class Row:
    """A program, and what its end must be.

    command      words after the environment's interpreter: its script in this folder, or "-m" and a module, and arguments
    settings     variables of its environment; {toolkit} is the folder of the CUDA toolkit, {stub} one with a libcuda.so to link with,
                 {headers} one with headers of cuBLAS and others
    printed      regular expressions that its output must have
    said         regular expressions that the answer of `tidemark run` must have
    never        texts that the answer must not have
    figures      (regular expression with a number and a unit, the bytes that are known, the part that it may differ by, whose figure)
    status       its exit status
    program      a command of the environment in place of the interpreter
    """
    name: str
    environment: str
    command: tuple
    device: str = "virtual:h100-80"
    settings: dict = field(default_factory=dict)
    options: tuple = ()
    printed: tuple = ()
    said: tuple = ()
    never: tuple = ()
    figures: tuple = ()
    status: int = 0
    seconds: int = 900
    program: str = ""


GIB = 1 << 30
V2 = {"VLLM_USE_FLASHINFER_SAMPLER": "0"}
FITS = r"it fits virtual:h100-80\b"
FAILS = r"it does not fit virtual:h100-80\b"
TOOLKIT = {"CUDA_HOME": "{toolkit}", "CPATH": "{toolkit}/include", "LIBRARY_PATH": "{toolkit}/lib64:{stub}"}
# FlashInfer's own norms are of CuTe DSL, whose runtime is linked in and stripped; those of CUDA are compiled at their first use.
SGLANG = {"FLASHINFER_USE_CUDA_NORM": "1", "CUDA_HOME": "{toolkit}", "CPATH": "{toolkit}/include:{headers}",
          "LIBRARY_PATH": "{toolkit}/lib64:{stub}"}
LLAMA8B = ("vllm_request.py", "llama8b", "gpu_memory_utilization=0.95")
# As published: newer versions of vLLM take what they expect CUDA graphs to need off the pool.
EAGER = (*LLAMA8B, "enforce_eager=true")
# Without what FlashInfer would compile for many minutes.
TWO = V2 | {"VLLM_ALLREDUCE_USE_FLASHINFER": "0"}
UNFUSED = 'compilation_config={"pass_config": {"fuse_allreduce_rms": false}}'
CARD_1 = r"card 1 \(virtual:h100-80\)"
EACH = r"on each of 2 cards: [\d,]+ tokens by its own count"
POOL = r"The KV cache of vLLM has ([\d.]+) (\w+)"

ROWS = (
    Row("vllm tiny", "vllm", ("vllm_request.py", "tiny"), "virtual:rtx4090-24", V2, printed=(r"tokens \[8\]",),
        said=(POOL, r"it fits virtual:rtx4090\b")),
    Row("vllm llama8b", "vllm", EAGER, settings=V2, printed=(r"tokens \[8\]",), said=(FITS, r"tokens by its own count"),
        figures=((POOL, 58.11 * GIB, 0.01, "published for vLLM 0.19"),), seconds=2400),
    Row("vllm llama8b fp8", "vllm", (*EAGER, "quantization=fp8"), settings=V2, printed=(r"tokens \[8\]",), said=(FITS,),
        figures=((POOL, 64.61 * GIB, 0.01, "published for vLLM 0.19"),), seconds=2400),
    Row("vllm too long", "vllm", ("vllm_request.py", "llama8b", "max_model_len=65536", "enforce_eager=true"), "virtual:rtx4090-24", V2,
        said=(r"it does not fit virtual:rtx4090\b",), status=1, seconds=1800),
    Row("vllm two cards", "vllm", (*LLAMA8B, "tensor_parallel_size=2", "max_model_len=16384", "enforce_eager=true"), "virtual:h100-80x2", TWO,
        printed=(r"tokens \[8\]",), said=(FITS, CARD_1, EACH, r"NCCL's own memory is a model: likely 518\.00 MiB"), seconds=2400),
    Row("vllm two cards compiled", "vllm", ("vllm_request.py", "tiny", "tensor_parallel_size=2", UNFUSED), "virtual:h100-80x2", TWO,
        printed=(r"tokens \[8\]",), said=(FITS, CARD_1, EACH), seconds=2400),
    Row("sglang tiny", "sglang", ("sglang_request.py", "tiny", "disable_cuda_graph=true", "attention_backend=triton", "sampling_backend=pytorch",
                                    "watchdog_timeout=3000"), "virtual:rtx4090-24", SGLANG,
        printed=(r"tokens 8",), said=(r"it fits virtual:rtx4090\b",), seconds=1800),
    Row("llama.cpp", "llama", ("llama_cpp.js", "{folder}/tiny.gguf"), printed=(r"tokens [78]",), said=(FITS, r"By kind: .*KV cache")),
    Row("transformers generate", "models", ("transformers_generate.py",),
        printed=(r"greedy: \(2, 80\)", r"beams: \(2, 80\)", r"early: \(4, 80\)", r"sampled beams: \(2, 80\)", r"static cache: \(2, 80\)",
                 r"assisted: \(1, 80\)"), said=(FITS, r"By kind: .*KV cache", r"the tokens are drawn on the card")),
    Row("bitsandbytes paged", "models", ("paged_optimizer.py",), printed=(r"steps done",), said=(FITS, r"managed memory")),
    Row("diffusers model offload", "models", ("diffusers_offload.py",), printed=(r"images \(1, 3, 512, 512\)",), said=(FITS,)),
    Row("diffusers sequential offload", "models", ("diffusers_offload.py", "sequential"), printed=(r"images \(1, 3, 512, 512\)",), said=(FITS,)),
    Row("deepspeed zero-3 offload", "models", ("-m", "deepspeed.launcher.runner", "--num_gpus", "1", "deepspeed_offload.py"),
        printed=(r"steps 3",), said=(FITS, r"By kind: .*gradients")),
    Row("torchrun ddp", PYTORCH, ("-m", "torch.distributed.run", "--nproc-per-node", "2", "torchrun_ddp.py"), "virtual:h100-80x2",
        printed=(r"rank 0 of 2: 3288826368 bytes", r"rank 1 of 2: 3288826368 bytes"), said=(r"fits virtual:h100-80 on all 2 ranks",)),
    Row("aotinductor", PYTORCH, ("aotinductor.py",), settings=TOOLKIT, printed=(r"ran \(4096, 1024\)",), said=(FITS,), never=("backward pass",)),
    Row("jax training", "jax", ("jax_training.py",), printed=(r"CudaDevice\(id=0\)", r"steps done"), said=(FITS, r"XLA used up to [\d.]+ GiB"),
        never=("PyTorch",)),
    Row("jax out of memory", "jax", ("jax_training.py", "oom"), printed=(r"steps done",), said=(FAILS, r"128\.00 GiB"), status=1,
        never=("PyTorch",)),
    Row("jax two cards", "jax", ("jax_training.py", "cards"), "virtual:h100-80x2", printed=(r"CudaDevice\(id=1\)", r"steps done"),
        said=(r"card 1 \(virtual:h100-80\)", r"Card 1: XLA used up to"), never=("PyTorch",)),
    Row("jax platform allocator", "jax", ("jax_training.py", "oom"), settings={"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"},
        printed=(r"steps done",), said=(FAILS,), status=1, never=("PyTorch",)),
    Row("cupy", "cupy", ("cupy_arrays.py",), printed=(r"sorted \(16777216,\)", r"out of memory"),
        said=(FITS, r"linked into the package cupy \(CUDA 13"), never=("PyTorch",)),
    Row("ctranslate2", "ctranslate2", ("ctranslate2_move.py",), printed=(r"devices 1", r"\(1024, 1024, 16\)"),
        said=(FITS, r"linked into the package ctranslate2"), never=("PyTorch",)),
    Row("numba-cuda", "bindings", ("numba_kernel.py",), printed=(r"H100", r"\(16777216,\)"), said=(FITS, r"numba_kernel\.py:\d+"),
        never=("PyTorch", "linked into")),
    Row("cuda.core", "bindings", ("cuda_core.py",), printed=(r"H100.* 67108864",), said=(FITS,), never=("PyTorch",)),
    Row("cuda.bindings", "bindings", ("cuda_bindings.py",), printed=(r"1 NVIDIA H100 .*cudaErrorMemoryAllocation cudaSuccess",),
        said=(FITS, r"256\.00 MiB", r"linked into the package cuda-bindings"), never=("PyTorch",)),
    Row("onnx runtime", "onnx", ("onnx_runtime.py",), printed=(r"CUDAExecutionProvider \(64, 1024\)",), said=(FITS,), never=("PyTorch",)),
    Row("faiss", "faiss", ("faiss_search.py",), "virtual:a100-80", printed=(r"1 10000 \(10, 5\)",), said=(r"it fits virtual:a100-80",),
        figures=((r"the program allocated ([\d.]+) (\w+)", 1.55 * GIB, 0.05, "its scratch of 1.5 GiB and its data"),), never=("PyTorch",)),
    Row("faiss without code", "faiss", ("faiss_search.py",), said=(r"signal 6 ended the program", r"CUDA code was not built for compute capability 9\.0"), status=-6, never=("PyTorch",)),
    Row("xgboost", "xgboost", ("xgboost_training.py",), said=(r"no kernel ran|none of the \d+ kernels|a virtual card computes none",), status=1,
        never=("PyTorch",)),
    Row("pycuda", "pycuda", ("pycuda_kernel.py",), settings=TOOLKIT, printed=(r"H100.* True 512",), said=(FITS, r"256\.00 MiB"), never=("PyTorch",)),
    Row("gpustat", "tools", ("-m", "gpustat", "--no-color"), "virtual:h100-80x2", printed=(r"\[0\] NVIDIA H100", r"\[1\] NVIDIA H100"), never=("PyTorch",)),
    Row("nvitop", "tools", ("-m", "nvitop", "--once"), "virtual:h100-80x2", printed=(r"H100",), never=("PyTorch",)),
    Row("nvidia-smi", PYTORCH, ("-L",), "virtual:h100-80x2", program="nvidia-smi", printed=(r"GPU 1: NVIDIA H100 80GB HBM3",)),
)
