# The libraries that the build needs. libunwind is not one of them: it is opened at run time.

# The wheel has them within, because the systems that it is installed on may not.
if(TIDEMARK_WHEEL)
    set(ZLIB_USE_STATIC_LIBS ON)
    set(TIDE_CJSON_NAMES libcjson.a)
    execute_process(COMMAND "${CMAKE_C_COMPILER}" -print-file-name=libgomp.a OUTPUT_VARIABLE TIDE_GOMP
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(EXISTS "${TIDE_GOMP}")
        set(OpenMP_gomp_LIBRARY "${TIDE_GOMP}" CACHE FILEPATH "OpenMP")
    endif()
endif()
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
if(TIDEMARK_MODEL)
    find_package(OpenMP COMPONENTS C QUIET)
endif()

find_path(CJSON_INCLUDE_DIR cjson/cJSON.h REQUIRED)
find_library(CJSON_LIBRARY NAMES ${TIDE_CJSON_NAMES} cjson REQUIRED)
add_library(tide_cjson INTERFACE)
target_include_directories(tide_cjson SYSTEM INTERFACE "${CJSON_INCLUDE_DIR}")
target_link_libraries(tide_cjson INTERFACE "${CJSON_LIBRARY}")

# libbacktrace comes with GCC, in a folder where other compilers do not look.
set(TIDE_GCC gcc)
if(CMAKE_CROSSCOMPILING)
    set(TIDE_GCC "${CMAKE_C_COMPILER}")
endif()
execute_process(COMMAND "${TIDE_GCC}" -print-file-name=include OUTPUT_VARIABLE TIDE_GCC_INCLUDE
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND "${TIDE_GCC}" -print-file-name=libbacktrace.a OUTPUT_VARIABLE TIDE_GCC_BACKTRACE
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_path(BACKTRACE_INCLUDE_DIR backtrace.h HINTS "${TIDE_GCC_INCLUDE}" NO_CMAKE_FIND_ROOT_PATH)
find_library(BACKTRACE_LIBRARY NAMES libbacktrace.a backtrace HINTS "${TIDE_GCC_BACKTRACE}/.." NO_CMAKE_FIND_ROOT_PATH)
if(NOT BACKTRACE_LIBRARY AND EXISTS "${TIDE_GCC_BACKTRACE}")
    set(BACKTRACE_LIBRARY "${TIDE_GCC_BACKTRACE}" CACHE FILEPATH "libbacktrace" FORCE)
endif()
add_library(tide_backtrace INTERFACE)
if(BACKTRACE_INCLUDE_DIR AND BACKTRACE_LIBRARY)
    # Copied, because the folder itself holds gcc's own standard headers, which another compiler must not see.
    file(COPY "${BACKTRACE_INCLUDE_DIR}/backtrace.h" DESTINATION "${CMAKE_BINARY_DIR}/backtrace")
    if(EXISTS "${BACKTRACE_INCLUDE_DIR}/backtrace-supported.h")
        file(COPY "${BACKTRACE_INCLUDE_DIR}/backtrace-supported.h" DESTINATION "${CMAKE_BINARY_DIR}/backtrace")
    endif()
    target_include_directories(tide_backtrace SYSTEM INTERFACE "${CMAKE_BINARY_DIR}/backtrace")
    target_link_libraries(tide_backtrace INTERFACE "${BACKTRACE_LIBRARY}")
    target_compile_definitions(tide_backtrace INTERFACE TIDEMARK_HAVE_BACKTRACE=1)
else()
    message(STATUS "tidemark: no libbacktrace: call stacks will have function names only")
    target_compile_definitions(tide_backtrace INTERFACE TIDEMARK_HAVE_BACKTRACE=0)
endif()
