# Runs at installation: writes the headers tide_headers of tide_source to tide_made, with includes by paths from their own
# folder, and installs them in tide_target.
if(NOT IS_ABSOLUTE "${tide_target}")
    set(tide_target "${CMAKE_INSTALL_PREFIX}/${tide_target}")
endif()
foreach(header IN LISTS tide_headers)
    cmake_path(GET header PARENT_PATH folder)
    file(READ "${tide_source}/${header}" text)
    if(folder)
        string(REGEX REPLACE "(#include \")([a-z_]+/)" "\\1../\\2" text "${text}")
    endif()
    file(WRITE "${tide_made}/${header}" "${text}")
    file(INSTALL DESTINATION "${tide_target}/${folder}" TYPE FILE FILES "${tide_made}/${header}")
endforeach()
