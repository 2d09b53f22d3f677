#!/usr/bin/env bash
# carry.sh ROOT FOLDER [CMAKE_OPTION...]: makes FOLDER, a build that runs on another machine with a GPU and its driver,
# without anything installed but glibc 2.36 or newer: the program, the tests that launch kernels, every library they
# need, what `tidemark run` opens, the recorded results, the zoo, the benchmark beside PyTorch, and run.sh, which runs all that. Code for compute capability 9.0 (and PTX), unless a
# CMAKE_OPTION says otherwise: -DCMAKE_CUDA_ARCHITECTURES=80-real.
set -eu
root=$(realpath "$1")
folder=$(realpath -m "$2")
shift 2
build=$root/build/carry
cd "$root"

# RPATH, not RUNPATH: the carried libraries find each other by it, too.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTIDEMARK_CUDA=ON -DTIDEMARK_TESTS=ON \
    -DCMAKE_CUDA_ARCHITECTURES=90 -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN/lib;$ORIGIN/../lib;$ORIGIN/..' \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags "$@"
cmake --build "$build" --target tidemark test_gpu tide_gpu_probe tidemark_virtual_cuda tidemark_scratch tidemark_live

rm -rf "${folder:?}/lib" "$folder/bin"
bash tests/gpu/carry_scripts.sh "$root" "$folder"
# Where `tidemark run` looks for its libraries: ../lib/tidemark, as seen from the program.
mkdir -p "$folder/bin" "$folder/lib/tidemark"
cp "$build/cli/tidemark" "$folder/bin/"
objects=()
for name in live virtual_cuda scratch; do
    object=$(find "$build" -name "libtidemark_$name.so" | head -n 1)
    cp "$object" "$folder/lib/tidemark/"
    objects+=("$object")
done
for program in test_gpu tide_gpu_probe; do
    cp "$build/tests/gpu/$program" "$folder/tests/"
    strip --strip-debug "$folder/tests/$program"
done

# The libraries that the loader would load, except glibc, which the other machine has. libunwind is opened at run time.
needs() { ldd "$1" | sed -nE 's/^\s*\S+ => (\/\S+) .*/\1/p'; }
unwind=$(ldconfig -p | sed -nE 's/^\s*libunwind\.so\.8 .*=> (\S+)$/\1/p' | head -n 1)
{
    for program in "$folder/bin/tidemark" "$folder/tests/test_gpu" "$folder/tests/tide_gpu_probe" "${objects[@]}"; do
        needs "$program"
    done
    if [ -n "$unwind" ]; then
        echo "$unwind"
        needs "$unwind"
    fi
} | sort -u | while read -r library; do
    case "${library##*/}" in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux*) ;;
    *) cp -L "$library" "$folder/lib/" ;;
    esac
done
du -sh "$folder"
