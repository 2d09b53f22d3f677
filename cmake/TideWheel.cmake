# What the wheel of the Python package holds beside the package (pyproject.toml): the component "program", as installed
# everywhere, and what makes it run where tidemark's libraries are not installed.
#
#   - libunwind, which is opened at run time, is beside the objects; they and the program find it by their run path.
#   - zlib, cJSON and OpenMP are linked from archives, if the system has them (TideDependencies.cmake).
#   - The licences of all of these are in share/doc/tidemark/licenses.

add_custom_target(wheel DEPENDS tidemark)
foreach(object IN ITEMS tidemark_virtual_cuda tidemark_scratch tidemark_nvidia_smi)
    if(TARGET ${object}) # a build with sanitizers has not all of them
        add_dependencies(wheel ${object})
    endif()
endforeach()
if(NOT TIDEMARK_WHEEL)
    return()
endif()

set_property(TARGET tidemark PROPERTY INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/tidemark")
foreach(object IN ITEMS tidemark_virtual_cuda tidemark_scratch tidemark_live)
    if(TARGET ${object})
        set_property(TARGET ${object} PROPERTY INSTALL_RPATH "$ORIGIN")
    endif()
endforeach()

# Folders with licences, as Debian has them. libbacktrace is part of GCC.
set(licences "${PROJECT_BINARY_DIR}/licenses")
file(REMOVE_RECURSE "${licences}")
foreach(package IN ITEMS libunwind8 liblzma5 libcjson1 zlib1g libgcc-s1 libgomp1)
    if(EXISTS "/usr/share/doc/${package}/copyright")
        configure_file("/usr/share/doc/${package}/copyright" "${licences}/${package}.txt" COPYONLY)
    endif()
endforeach()
install(DIRECTORY "${licences}" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tidemark" COMPONENT program)

find_file(TIDE_LIBUNWIND libunwind.so.8 PATHS /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib /usr/local/lib NO_DEFAULT_PATH)
if(TIDE_LIBUNWIND AND EXISTS "${licences}/libunwind8.txt")
    file(REAL_PATH "${TIDE_LIBUNWIND}" libunwind)
    install(PROGRAMS "${libunwind}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/tidemark" RENAME libunwind.so.8 COMPONENT program)
else()
    message(STATUS "tidemark: no libunwind.so.8 with its licence: the wheel needs the system's")
endif()
