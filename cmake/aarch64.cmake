# A toolchain file: builds for Linux on aarch64 with Debian's cross compiler. Debian's packages zlib1g-dev, libcjson-dev and
# libcjson1 for arm64 are unpacked in $TIDEMARK_AARCH64_ROOT; qemu-user runs what the build itself starts.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-gcc) # only tests have C++
set(CMAKE_CXX_COMPILER_FORCED TRUE)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH "$ENV{TIDEMARK_AARCH64_ROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR env "LD_LIBRARY_PATH=$ENV{TIDEMARK_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu" qemu-aarch64 -L /usr/aarch64-linux-gnu)
