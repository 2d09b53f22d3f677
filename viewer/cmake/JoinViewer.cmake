# Joins the viewer's modules, style and page into one self-contained HTML file, and that into C arrays.
#   cmake -DSOURCE=viewer -DMODULES=a.js,b.js -DPACK=pack -DESBUILD=esbuild -DHTML=viewer.html -DARRAYS=viewer_page.c -P JoinViewer.cmake
#
# A module's imports name modules that stand before it in MODULES, so the joined text is the modules one after the
# other, without their import lines, the word export, comments and indentation: no text of a module runs over lines or
# holds " // ". All names at the top level of a module are therefore unique in the viewer; the browser refuses the
# page otherwise, and a test opens it. The page holds the joined text compressed, and boot.js, which unpacks it.
#
# Where esbuild is present it shortens names and drops spaces first, in script and style; without it (ESBUILD empty) the page
# is the same to its users, and larger.

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
string(REPLACE "," ";" module_list "${MODULES}")
foreach(module IN LISTS module_list)
    file(READ "${SOURCE}/src/${module}" text)
    set(text "\n${text}")
    string(REGEX REPLACE "\n[ \t]*/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" "\n" text "${text}")
    string(REGEX REPLACE "/\\*\\* @[^*]*\\*/ ?" "" text "${text}")
    string(REGEX REPLACE "\nimport [^']*'[^']*'[;]" "\n" text "${text}")
    string(REGEX REPLACE "\nexport (const|function|async|class) " "\n\\1 " text "${text}")
    if(text MATCHES "\n(import|export) ")
        message(FATAL_ERROR "viewer/src/${module}: only 'import {...} from' at the top and 'export const|function|class' can be joined")
    endif()
    string(REGEX REPLACE " // [^\n]*" "" text "${text}")
    string(REGEX REPLACE "\n[ \n]+" "\n" text "${text}")
    string(APPEND script "${text}")
endforeach()
file(WRITE "${HTML}.js" "${script}")
configure_file("${SOURCE}/style.css" "${HTML}.css" COPYONLY)
if(ESBUILD)
    foreach(kind IN ITEMS js css)
        execute_process(COMMAND "${ESBUILD}" --minify --charset=utf8 --log-level=warning "--outfile=${HTML}.min.${kind}" "${HTML}.${kind}"
            RESULT_VARIABLE result)
        if(NOT result EQUAL 0)
            message(FATAL_ERROR "${ESBUILD} could not read ${HTML}.${kind}")
        endif()
        file(RENAME "${HTML}.min.${kind}" "${HTML}.${kind}")
    endforeach()
endif()
file(READ "${HTML}.js" script)
file(READ "${HTML}.css" style)
file(READ "${SOURCE}/index.html" page)
string(REGEX REPLACE "\n +" "\n" page "${page}")

file(READ "${SOURCE}/boot.js" boot)
string(REGEX REPLACE "^(//[^\n]*\n)+" "\n" boot "${boot}")
string(REGEX REPLACE "\n +" "\n" boot "${boot}")

execute_process(COMMAND "${PACK}" "${HTML}.js" "${HTML}.packed" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${PACK} could not compress ${HTML}.js")
endif()
file(READ "${HTML}.packed" packed)
foreach(part IN ITEMS script boot style)
    string(SHA256 hash "${${part}}")
    base64_of_hash(${hash} hash)
    string(TOUPPER ${part} name)
    string(REPLACE "@${name}_HASH@" "sha256-${hash}" page "${page}")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
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
