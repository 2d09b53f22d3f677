# What the wheel of the Python package holds beside the package (pyproject.toml): the component "program", as installed
# everywhere, and what makes it run where tidemark's libraries are not installed.
#
#   - It runs with glibc 2.28, whatever the system of the build has (TideGlibc.cmake).
#   - libunwind, which is opened at run time, is the system's; without it glibc's backtrace() takes its place.
#   - zlib and OpenMP are linked from archives (TideDependencies.cmake). cJSON, of which Debian has no archive, is beside the
#     objects; the program finds it by its run path.
#   - The licences of all of these are in share/doc/tidemark/licenses.

add_custom_target(wheel DEPENDS tidemark manual)
foreach(object IN ITEMS tidemark_virtual_cuda tidemark_scratch tidemark_nvidia_smi)
    if(TARGET ${object}) # a build with sanitizers has not all of them
        add_dependencies(wheel ${object})
    endif()
endforeach()
if(NOT TIDEMARK_WHEEL)
    return()
endif()

set_property(TARGET tidemark PROPERTY INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/tidemark")
if(CJSON_LIBRARY MATCHES "\\.so")
    file(REAL_PATH "${CJSON_LIBRARY}" cjson)
    install(PROGRAMS "${cjson}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/tidemark" RENAME libcjson.so.1 COMPONENT program)
endif()

# The empty page, for a static host or a drag of a snapshot into it.
install(FILES "${PROJECT_BINARY_DIR}/viewer/viewer.html" DESTINATION "${CMAKE_INSTALL_DATADIR}/tidemark" COMPONENT program)
# scikit-build-core names the folder that pip copies into the environment, where `man` and bash look.
if(SKBUILD_DATA_DIR)
    install(FILES "${PROJECT_BINARY_DIR}/cli/tidemark.1" DESTINATION "${SKBUILD_DATA_DIR}/share/man/man1" COMPONENT program)
    install(FILES "${PROJECT_BINARY_DIR}/cli/tidemark.bash" DESTINATION "${SKBUILD_DATA_DIR}/share/bash-completion/completions"
        RENAME tidemark COMPONENT program)
endif()

# Folders with licences, as Debian has them. libbacktrace is part of GCC.
set(licences "${PROJECT_BINARY_DIR}/licenses")
file(REMOVE_RECURSE "${licences}")
foreach(package IN ITEMS libcjson1 zlib1g libgcc-s1 libgomp1)
    if(EXISTS "/usr/share/doc/${package}/copyright")
        configure_file("/usr/share/doc/${package}/copyright" "${licences}/${package}.txt" COPYONLY)
    endif()
endforeach()
install(DIRECTORY "${licences}" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tidemark" COMPONENT program)
