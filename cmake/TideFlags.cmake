# Language levels, warnings, debug information and sanitizers, for every target of the project.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

add_library(tide_flags INTERFACE)
set(TIDE_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef -Wvla -Wformat=2)
set(TIDE_HOST_OPTIONS
    # For call stacks in snapshots: line tables, every caller in the chain, and paths relative to the sources, so that they
    # are the same on every machine.
    -g -fno-omit-frame-pointer -fno-optimize-sibling-calls
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
# The folder of compilation is also mapped: clang writes paths relative to it, and debuggers join the two.
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND TIDE_HOST_OPTIONS -fdebug-compilation-dir=.)
else()
    list(APPEND TIDE_HOST_OPTIONS "-fdebug-prefix-map=${PROJECT_BINARY_DIR}=.")
endif()
if(TIDEMARK_WERROR)
    list(APPEND TIDE_HOST_OPTIONS -Werror)
endif()
if(TIDEMARK_ASSERTS)
    target_compile_definitions(tide_flags INTERFACE TIDEMARK_ASSERTS)
endif()
if(TIDEMARK_SANITIZE)
    # -O1, which comes after -O2 on the line: sanitizers make code that takes a third longer to compile at -O2.
    list(APPEND TIDE_HOST_OPTIONS "-fsanitize=${TIDEMARK_SANITIZE}" -fno-sanitize-recover=all -O1)
    # There gcc sees less of the bounds of a text and of what sets a variable, and warns where the plain build does not.
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND TIDE_HOST_OPTIONS -Wno-format-truncation -Wno-maybe-uninitialized)
    endif()
    target_link_options(tide_flags INTERFACE "-fsanitize=${TIDEMARK_SANITIZE}")
endif()
target_compile_options(tide_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:${TIDE_WARNINGS}>"
    "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
    "$<$<COMPILE_LANGUAGE:C,CXX>:${TIDE_HOST_OPTIONS}>")
# nvcc: line tables of host code for call stacks and of device code for tools; never -G, which makes slow code.
set(TIDE_NVCC_OPTIONS -g -lineinfo
    "-Xcompiler=-fno-omit-frame-pointer,-fno-optimize-sibling-calls,-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(TIDEMARK_WERROR)
    list(APPEND TIDE_NVCC_OPTIONS -Werror=all-warnings -Xcompiler=-Wall,-Wextra)
endif()
target_compile_options(tide_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${TIDE_NVCC_OPTIONS}>")
target_include_directories(tide_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
