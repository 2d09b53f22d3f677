# tide_module(NAME SOURCES...): the static library tide_NAME with the project's flags.
function(tide_module name)
    add_library(tide_${name} STATIC ${ARGN})
    target_link_libraries(tide_${name} PUBLIC tide_flags)
endfunction()
