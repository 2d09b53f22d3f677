# Looks for the CUDA toolkit if TIDEMARK_CUDA requests it. Sets TIDEMARK_HAVE_CUDA and enables the language, in
# which only the kernels of our own model are written.

set(TIDEMARK_HAVE_CUDA OFF)
if(NOT TIDEMARK_CUDA STREQUAL "OFF")
    # Not check_language: it looks only at PATH, and an nvcc without its toolkit would be a fatal error later.
    find_program(TIDEMARK_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(TIDEMARK_NVCC OR NOT TIDEMARK_MODEL) # the device alone needs no compiler
        find_package(CUDAToolkit QUIET)
    endif()
    if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
        set(TIDEMARK_HAVE_CUDA ON)
    elseif(TIDEMARK_CUDA STREQUAL "ON")
        message(FATAL_ERROR "TIDEMARK_CUDA=ON, but no CUDA toolkit with nvcc and cudart_static was found. "
            "Install CUDA 12 or newer, or configure with -DTIDEMARK_CUDA=OFF.")
    endif()
endif()
if(TIDEMARK_HAVE_CUDA AND TIDEMARK_MODEL)
    # Machine code for compute capability 8.0 and 9.0, and PTX of 9.0 for later GPUs. This must come before the language is
    # enabled, because CMake picks a default of its own then.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "GPUs to compile for, as CMake names them")
    endif()
    if(NOT DEFINED CMAKE_CUDA_COMPILER)
        set(CMAKE_CUDA_COMPILER "${TIDEMARK_NVCC}" CACHE FILEPATH "nvcc")
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3")
    set(CMAKE_CUDA_FLAGS_RELEASE "-O3")
endif()
message(STATUS "tidemark: cuda device ${TIDEMARK_HAVE_CUDA}")
