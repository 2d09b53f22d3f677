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
# -O2 with asserts: TIDE_ASSERT guards against our own mistakes in every build.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

add_library(tide_flags INTERFACE)
target_compile_options(tide_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef -Wvla -Wformat=2
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    # Call stacks in snapshots: line tables, every caller in the chain, and paths that name no one's machine.
    -g -fno-omit-frame-pointer -fno-optimize-sibling-calls
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
    # The folder of compilation too: clang writes paths relative to it, which debuggers then join with it.
    "$<IF:$<OR:$<COMPILE_LANG_AND_ID:C,Clang>,$<COMPILE_LANG_AND_ID:CXX,Clang>>,-fdebug-compilation-dir=.,-fdebug-prefix-map=${PROJECT_BINARY_DIR}=.>")
if(TIDEMARK_WERROR)
    target_compile_options(tide_flags INTERFACE -Werror)
endif()
if(TIDEMARK_SANITIZE)
    target_compile_options(tide_flags INTERFACE "-fsanitize=${TIDEMARK_SANITIZE}" -fno-sanitize-recover=all)
    target_link_options(tide_flags INTERFACE "-fsanitize=${TIDEMARK_SANITIZE}")
endif()
target_include_directories(tide_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
