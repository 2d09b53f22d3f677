# Installs the library with its headers, the CMake package, the pkg-config file and the documents; cli/ and viewer/ install
# the program and its page. One archive holds all modules that a program needs to record itself, so that users link one
# library and need not know their order.

include(CMakePackageConfigHelpers)

set(TIDE_LIBRARY_MODULES common device stack recorder allocator snapshot capture)
set(TIDE_INCLUDE_DIR "${CMAKE_INSTALL_INCLUDEDIR}/tidemark")
set(TIDE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tidemark")

set(objects "")
foreach(module IN LISTS TIDE_LIBRARY_MODULES)
    list(APPEND objects "$<TARGET_OBJECTS:tide_${module}>")
endforeach()
add_library(tide_library STATIC ${objects})
set_target_properties(tide_library PROPERTIES OUTPUT_NAME tidemark EXPORT_NAME tidemark LINKER_LANGUAGE C)
target_include_directories(tide_library INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>" "$<INSTALL_INTERFACE:${TIDE_INCLUDE_DIR}>")
target_link_libraries(tide_library INTERFACE ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS} m)
# Only inside the build: an archive of sanitized objects is not installed.
if(TIDEMARK_SANITIZE)
    target_link_options(tide_library INTERFACE "$<BUILD_INTERFACE:-fsanitize=${TIDEMARK_SANITIZE}>")
endif()
set(TIDE_PC_LIBS_PRIVATE "-lm")
if(CMAKE_DL_LIBS)
    string(PREPEND TIDE_PC_LIBS_PRIVATE "-l${CMAKE_DL_LIBS} ")
endif()
string(PREPEND TIDE_PC_LIBS_PRIVATE "-pthread ")
set(TIDE_BACKTRACE_PATH "")
if(BACKTRACE_INCLUDE_DIR AND BACKTRACE_LIBRARY)
    set(TIDE_BACKTRACE_PATH "${BACKTRACE_LIBRARY}")
    target_link_libraries(tide_library INTERFACE "${BACKTRACE_LIBRARY}")
    string(PREPEND TIDE_PC_LIBS_PRIVATE "-lbacktrace ") # gcc and clang look in gcc's own folder
endif()
# By its path, like libbacktrace: CMake finds no toolkit without nvcc, and users need no nvcc.
set(TIDE_CUDART_PATH "")
if(TIDEMARK_HAVE_CUDA)
    get_target_property(TIDE_CUDART_PATH CUDA::cudart_static IMPORTED_LOCATION)
    target_link_libraries(tide_library INTERFACE "${TIDE_CUDART_PATH}" rt)
    string(PREPEND TIDE_PC_LIBS_PRIVATE "-lcudart_static -lrt ") # the user names the toolkit's folder with -L
endif()
add_library(tidemark::tidemark ALIAS tide_library)

install(TARGETS tide_library EXPORT tidemark ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT tidemark NAMESPACE tidemark:: FILE tidemarkTargets.cmake DESTINATION "${TIDE_PACKAGE_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/tidemarkConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/tidemarkConfig.cmake" INSTALL_DESTINATION "${TIDE_PACKAGE_DIR}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tidemarkConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tidemarkConfig.cmake" "${PROJECT_BINARY_DIR}/tidemarkConfigVersion.cmake"
    DESTINATION "${TIDE_PACKAGE_DIR}")

# The file finds the prefix from its own place, so that an installed tree can be moved. Where libraries are installed outside
# the prefix it cannot, and names the prefix.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(TIDE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH TIDE_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" TIDE_PC_PREFIX "\${pcfiledir}/${TIDE_PC_PREFIX}")
endif()
cmake_path(APPEND TIDE_PC_INCLUDE_DIR "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
cmake_path(APPEND TIDE_PC_LIB_DIR "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/tidemark.pc.in" "${PROJECT_BINARY_DIR}/tidemark.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tidemark.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# Named one by one: an installed header is a promise, and a new header of a module must not make one by itself.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/public_headers.txt" TIDE_PUBLIC_HEADERS REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/public_headers.txt")
# In the tree, headers include each other by their paths from its root. Installed, by paths from their own folder, so that
# `#include <tidemark/tidemark.h>` needs no folder of include paths but the system's.
install(CODE "set(tide_headers \"${TIDE_PUBLIC_HEADERS}\")
set(tide_source \"${PROJECT_SOURCE_DIR}\")
set(tide_made \"${PROJECT_BINARY_DIR}/installed_headers\")
set(tide_target \"${TIDE_INCLUDE_DIR}\")")
install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/TideInstallHeaders.cmake")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs"
    FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.c")
