# The CUDA toolkit, where it is wanted and found. Sets TIDEMARK_HAVE_CUDA.

set(TIDEMARK_HAVE_CUDA OFF)
if(NOT TIDEMARK_CUDA STREQUAL "OFF")
    # Searched by hand: check_language looks at PATH alone, and an nvcc without its toolkit is fatal later on.
    find_program(TIDEMARK_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(TIDEMARK_NVCC)
        find_package(CUDAToolkit QUIET)
    endif()
    if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
        set(TIDEMARK_HAVE_CUDA ON)
    elseif(TIDEMARK_CUDA STREQUAL "ON")
        message(FATAL_ERROR "TIDEMARK_CUDA=ON, but no CUDA toolkit with nvcc and cudart_static was found. "
            "Install CUDA 12 or newer, or configure with -DTIDEMARK_CUDA=OFF.")
    endif()
endif()
message(STATUS "tidemark: cuda device ${TIDEMARK_HAVE_CUDA}")
