# C as WebAssembly, by Debian's clang and its library for it. The host's compiler and flags play no part.

# The packages of each tool, as ./dev names them.
set(TIDE_WASM_PACKAGES "clang-14, lld-14, wasi-libc and libclang-rt-14-dev-wasm32")

find_program(TIDE_WASM_CLANG clang-14 DOC "compiles the page's engine")
find_program(TIDE_WASM_LD wasm-ld-14 DOC "links the page's engine")
find_file(TIDE_WASM_LIBC libc.a PATHS /usr/lib/wasm32-wasi NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH DOC "the C library of the page's engine")
find_file(TIDE_WASM_BUILTINS libclang_rt.builtins-wasm32.a PATH_SUFFIXES lib/wasi NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
    PATHS /usr/lib/llvm-14/lib/clang/14.0.6 /usr/lib/llvm-14/lib/clang/14.0.0 /usr/lib/clang/14 DOC "clang's own functions for WebAssembly")
mark_as_advanced(TIDE_WASM_CLANG TIDE_WASM_LD TIDE_WASM_LIBC TIDE_WASM_BUILTINS)
foreach(tool IN ITEMS CLANG LD LIBC BUILTINS)
    if(NOT TIDE_WASM_${tool})
        message(FATAL_ERROR "tidemark: the page's engine cannot be built, because one of Debian's packages "
            "${TIDE_WASM_PACKAGES} is missing (./dev setup installs them)")
    endif()
endforeach()
cmake_path(GET TIDE_WASM_LIBC PARENT_PATH TIDE_WASM_LIB)

set(TIDE_WASM_FLAGS --target=wasm32-wasi -isystem /usr/include/wasm32-wasi
    -std=c11 -Os # -O2 is a tenth faster and makes each page 7 kB larger; -Oz takes a quarter longer
    -ffunction-sections -fdata-sections "-I${PROJECT_SOURCE_DIR}" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
    ${TIDE_WARNINGS} -Wstrict-prototypes -Wmissing-prototypes)
if(TIDEMARK_WERROR)
    list(APPEND TIDE_WASM_FLAGS -Werror)
endif()
if(TIDEMARK_ASSERTS)
    list(APPEND TIDE_WASM_FLAGS -DTIDEMARK_ASSERTS)
endif()
# The stack is below all data: an overflow traps instead of overwriting data.
set(TIDE_WASM_LINK_FLAGS -O2 --gc-sections --strip-all --stack-first -z stack-size=1048576 --max-memory=4294967296
    --entry=_initialize "${TIDE_WASM_LIB}/crt1-reactor.o")

# tide_wasm_objects(RET_OBJECTS SOURCES...): compiles files, given by their paths from the root of the project.
function(tide_wasm_objects ret_objects)
    set(objects "")
    foreach(source IN LISTS ARGN)
        set(object "${CMAKE_CURRENT_BINARY_DIR}/objects/${source}.o")
        cmake_path(GET object PARENT_PATH folder)
        file(MAKE_DIRECTORY "${folder}")
        set(size "")
        if(source MATCHES "^(snapshot/(explain|kinds|plan|ranks)|cli/summary|cli/words|report)/" OR
            source MATCHES "^snapshot/(wasm/(answer|document|ranks|rules|subjects|summary)|format/(reader|writer)_(keys|run|owners)|document/validate|pytorch/settings|analysis/(category_rules(_places)?|steps_kept|summary|instant|user_frame))[.]c")
            set(size -Oz) # sentences, made once for a file
        endif()
        add_custom_command(OUTPUT "${object}"
            COMMAND "${TIDE_WASM_CLANG}" ${TIDE_WASM_FLAGS} ${size} -MD -MT "${object}" -MF "${object}.d" -c "${PROJECT_SOURCE_DIR}/${source}" -o "${object}"
            DEPENDS "${PROJECT_SOURCE_DIR}/${source}" DEPFILE "${object}.d"
            COMMENT "Building WebAssembly ${source}" VERBATIM)
        list(APPEND objects "${object}")
    endforeach()
    set(${ret_objects} "${objects}" PARENT_SCOPE)
endfunction()

# tide_wasm(NAME OBJECTS...): the target NAME, which links NAME.wasm in this folder.
function(tide_wasm name)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}.wasm")
    add_custom_command(OUTPUT "${file}"
        COMMAND "${TIDE_WASM_LD}" ${TIDE_WASM_LINK_FLAGS} ${ARGN} "${TIDE_WASM_LIBC}" "${TIDE_WASM_LIB}/libm.a" "${TIDE_WASM_BUILTINS}" -o "${file}"
        DEPENDS ${ARGN} COMMENT "Linking ${name}.wasm" VERBATIM)
    add_custom_target(${name} DEPENDS "${file}")
endfunction()
