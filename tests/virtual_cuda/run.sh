#!/usr/bin/env bash
# Runs the checks of the virtual card that need a real PyTorch: run.sh PYTHON LIBRARY
# PYTHON is the interpreter of an environment with a CUDA build of PyTorch, LIBRARY the shared object to preload.
set -eu
python=$1
library=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')

# The table is of the headers of one PyTorch, which brings the newest libraries.
case $("$python" -c 'import torch; print(torch.__version__)') in
2.14.1*)
    echo "the tables of data/cuda_api, beside NVIDIA's headers:"
    "$python" -B "$here/../../data/cuda_api/generate.py" --site-packages "$packages" --check
    ;;
esac
echo "the tables of programs/virtual_cuda/libraries, beside the object and this PyTorch:"
"$python" -B "$here/check_list.py" "$library" --torch "$packages"

# The loader knows a loaded library by its inode, so that the driver and NVML are the preloaded object as well.
for name in libcuda.so.1 libnvidia-ml.so.1; do
    ln -s "$library" "$scratch/$name"
done
echo "the structs, beside NVIDIA's headers:"
ln -s "$library" "$scratch/libtidemark_virtual_cuda.so"
# The wheel of the runtime lacks the folder crt of its headers; Triton's has it.
cc -I "$packages/nvidia/cu13/include" -I "$packages/triton/backends/nvidia/include" "$here/check_layouts.c" -o "$scratch/check_layouts" -L "$scratch" -ltidemark_virtual_cuda
for cards in h100-80 t4-16; do
    LD_LIBRARY_PATH=$scratch TIDEMARK_VIRTUAL_CARDS=$cards "$scratch/check_layouts"
done

# The headers of other runtimes, 4 MB each, are kept beside the environment's packages. The name of a loaded library
# shows which runtime a program has.
headers=$("$python" -c 'import sys; print(sys.prefix)')/tidemark-headers
for runtime in nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-runtime-cu12==12.1.105 nvidia-cuda-runtime-cu12==12.4.127 \
    nvidia-cuda-runtime-cu12==12.8.90; do
    include=$headers/$runtime/nvidia/cuda_runtime/include
    [ -d "$include" ] || "$python" -m pip --disable-pip-version-check install -q --no-deps --target "$headers/$runtime" "$runtime"
    "$python" -B "$here/check_rows.py" --runtime "$include" "$packages/triton/backends/nvidia/include"
    case $runtime in
    *cu11*) name=libcudart.so.11.0 ;;
    *) name=libcudart.so.12 ;;
    esac
    rm -rf "$scratch/other" && mkdir "$scratch/other"
    cc -shared -x c /dev/null -Wl,-soname,$name -o "$scratch/other/$name"
    cc -I "$include" -I "$packages/triton/backends/nvidia/include" "$here/check_layouts.c" -o "$scratch/check_layouts" \
        -L "$scratch" -ltidemark_virtual_cuda -Wl,--no-as-needed "$scratch/other/$name"
    LD_LIBRARY_PATH=$scratch:$scratch/other TIDEMARK_VIRTUAL_CARDS=h100-80 "$scratch/check_layouts"
done

echo "images of kernels:"
root=$here/../..
cc -O1 -I "$root" "$here/check_images.c" "$root/programs/virtual_cuda/launches/cubin.c" "$root/programs/virtual_cuda/launches/unpack.c" -o "$scratch/check_images"
"$python" -B "$here/check_images.py" "$scratch/check_images" "$packages/torch/lib/libtorch_cuda.so" \
    "$packages/triton/backends/nvidia/bin/cuobjdump"

echo "a PyTorch program on a virtual card:"
LD_PRELOAD=$library LD_LIBRARY_PATH=$scratch TIDEMARK_VIRTUAL_CARDS=h100-80+t4-16 "$python" -B "$here/first_steps.py"
for streams in now late; do
    LD_PRELOAD=$library LD_LIBRARY_PATH=$scratch TIDEMARK_STREAMS=$streams "$python" -B "$here/late_streams.py"
done
for settings in "" expandable_segments:True; do
    rm -rf "$scratch/folder" && mkdir "$scratch/folder"
    LD_PRELOAD=$library LD_LIBRARY_PATH=$scratch TIDEMARK_RUN_FOLDER=$scratch/folder PYTORCH_CUDA_ALLOC_CONF=$settings \
        "$python" -B "$here/share_tensors.py"
done

echo "values that a program reads from the card:"
for values in python native; do
    mkdir "$scratch/$values"
    LD_PRELOAD=$library LD_LIBRARY_PATH=$scratch TIDEMARK_VIRTUAL_CARDS=h100-80 "$python" -B "$here/values.py" "$here/../../python" $values "$scratch/$values"
done

echo "what kernels without an operator may write:"
LD_PRELOAD=$library LD_LIBRARY_PATH=$scratch TIDEMARK_VIRTUAL_CARDS=h100-80 "$python" -B "$here/reached.py" "$here/../../python"
