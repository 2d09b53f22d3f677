# TIDEMARK_GLIBC=N: what is built runs with glibc 2.N, although this system's is newer. Programs are then linked with the
# libraries that glibc/stubs.py makes, and with the functions of that folder.

set(TIDEMARK_GLIBC "" CACHE STRING "The oldest glibc that the program runs with: N for 2.N; empty: this system's")
if(NOT TIDEMARK_GLIBC)
    return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(stubs "${PROJECT_BINARY_DIR}/glibc")
execute_process(COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_LIST_DIR}/glibc/stubs.py" "${CMAKE_C_COMPILER}" "${TIDEMARK_GLIBC}" "${stubs}"
    COMMAND_ERROR_IS_FATAL ANY)
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/glibc/*")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
string(PREPEND CMAKE_EXE_LINKER_FLAGS "-L${stubs} -Wl,--wrap=__libc_start_main ")
string(PREPEND CMAKE_SHARED_LINKER_FLAGS "-L${stubs} ")
