# Joins the viewer's modules, style and page into one self-contained HTML file, and that into C arrays.
#   cmake -DSOURCE=viewer -DMODULES=a.js,b.js -DPACK=pack -DESBUILD=esbuild -DHTML=viewer.html -DARRAYS=viewer_page.c -P JoinViewer.cmake
#
# A module's imports name modules that stand before it in MODULES, so the joined text is the modules one after the
# other, without their import lines and the word export. All names at the top level of a module are therefore unique in
# the viewer, which is checked here. The page holds script and style compressed
# (pack.c), and boot.js, which unpacks them. The part up to worker.js, before the mark /*!PAGE*/, is also the script of
# the page's workers.
#
# Where esbuild is present it shortens names and drops spaces and comments first; without it (ESBUILD empty) the page is
# the same to its users, and larger.

cmake_minimum_required(VERSION 3.25)

# The base64 of a SHA-256 given in hex, as Content-Security-Policy writes it.
function(base64_of_hash hex ret_text)
    set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    set(text "")
    foreach(at RANGE 0 60 6)
        string(SUBSTRING "${hex}0000" ${at} 6 group)
        foreach(shift IN ITEMS 18 12 6 0)
            math(EXPR digit "(0x${group} >> ${shift}) & 63")
            string(SUBSTRING "${alphabet}" ${digit} 1 letter)
            string(APPEND text "${letter}")
        endforeach()
    endforeach()
    string(SUBSTRING "${text}" 0 43 text)
    set(${ret_text} "${text}=" PARENT_SCOPE)
endfunction()

set(script "\n")
set(names "")
string(REPLACE "," ";" module_list "${MODULES}")
foreach(module IN LISTS module_list)
    file(READ "${SOURCE}/src/${module}" text)
    set(text "\n${text}")
    string(REGEX REPLACE "\nimport [^']*'[^']*'[;]" "\n" text "${text}")
    string(REGEX REPLACE "\nexport (const|function|async|class) " "\n\\1 " text "${text}")
    if(text MATCHES "\n(import|export) ")
        message(FATAL_ERROR "viewer/src/${module}: only 'import {...} from' at the top and 'export const|function|class' can be joined")
    endif()
    # Of two functions of one name the later would stand for both.
    string(REGEX MATCHALL "\n(const|let|function|class|async function) [A-Za-z0-9_$]+" declared "${text}")
    list(TRANSFORM declared REPLACE ".* " "")
    list(APPEND names ${declared})
    string(APPEND script "${text}")
    if(module STREQUAL "worker.js")
        string(APPEND script "/*!PAGE*/\n")
    endif()
endforeach()
list(SORT names)
set(before "")
foreach(name IN LISTS names)
    if(name STREQUAL before)
        message(FATAL_ERROR "viewer/src: two modules have '${name}' at their top level; names must differ in all of the viewer")
    endif()
    set(before "${name}")
endforeach()
file(WRITE "${HTML}.js" "${script}")
configure_file("${SOURCE}/boot.js" "${HTML}.boot.js" COPYONLY)
configure_file("${SOURCE}/style.css" "${HTML}.css" COPYONLY)

# esm: names at the top level may be shortened. inline: the mark stays where it is.
if(ESBUILD)
    foreach(kind IN ITEMS js boot.js css)
        set(options --minify --charset=utf8 --legal-comments=inline --log-level=warning)
        if(kind STREQUAL "js")
            list(APPEND options --format=esm)
        endif()
        execute_process(COMMAND "${ESBUILD}" ${options} "--outfile=${HTML}.min.${kind}" "${HTML}.${kind}" RESULT_VARIABLE result)
        if(NOT result EQUAL 0)
            message(FATAL_ERROR "${ESBUILD} could not read ${HTML}.${kind}")
        endif()
        file(RENAME "${HTML}.min.${kind}" "${HTML}.${kind}")
    endforeach()
endif()

execute_process(COMMAND "${PACK}" "${HTML}.css" "${HTML}.js" "${HTML}.packed" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${PACK} could not pack ${HTML}.js")
endif()
file(READ "${HTML}.packed" packed)
file(READ "${HTML}.boot.js" boot)
file(READ "${SOURCE}/index.html" page)
string(REGEX REPLACE "\n +" "\n" page "${page}")
foreach(pair IN ITEMS SCRIPT:js BOOT:boot.js STYLE:css)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 name)
    list(GET pair 1 kind)
    file(SHA256 "${HTML}.${kind}" hash)
    base64_of_hash(${hash} hash)
    string(REPLACE "@${name}_HASH@" "sha256-${hash}" page "${page}")
endforeach()
string(REPLACE "@PACKED@" "${packed}" page "${page}")
string(REPLACE "@BOOT@" "${boot}" page "${page}")
file(WRITE "${HTML}" "${page}")

# The page in two arrays; a report's data goes between them.
string(FIND "${page}" "<!--DATA-->" at)
if(at EQUAL -1)
    message(FATAL_ERROR "viewer/index.html lacks <!--DATA-->")
endif()
file(READ "${HTML}" hex HEX)
math(EXPR hex_at "${at} * 2")
string(SUBSTRING "${hex}" 0 ${hex_at} head)
string(SUBSTRING "${hex}" ${hex_at} -1 tail)
set(arrays "/* Written by the build from viewer/. */\n#include \"viewer/page_internal.h\"\n\n")
foreach(part IN ITEMS head tail)
    string(REGEX REPLACE "(................................)" "\\1\n" ${part} "${${part}}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," ${part} "${${part}}")
    string(APPEND arrays "const unsigned char tide_page_${part}[] = {\n${${part}}};\n"
        "const size_t tide_page_${part}_bytes = sizeof(tide_page_${part});\n\n")
endforeach()
file(WRITE "${ARRAYS}" "${arrays}")
