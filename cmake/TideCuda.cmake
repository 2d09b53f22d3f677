# The CUDA toolkit, where it is wanted and found. Sets TIDEMARK_HAVE_CUDA and enables the language.

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
if(TIDEMARK_HAVE_CUDA)
    # Machine code for compute capability 8.0 and 9.0, and PTX of 9.0 for what comes after. Before the language is enabled:
    # CMake would pick a default of its own.
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
