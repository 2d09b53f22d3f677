# Bundles the viewer's modules and style into one self-contained HTML file, and writes that into C arrays.
#   cmake -DSOURCE=viewer -DENGINE=tide_engine.wasm -DESBUILD=esbuild -DGZIP=gzip -DBASE64=base64 -DHTML=viewer.html -DARRAYS=viewer_page.c
#         -P BuildPage.cmake
#
# The page holds its style and its script as base64 of gzip, because they are a large part of it; boot.js unpacks them. So it
# holds the engine, which engine_module.js unpacks. The page's
# policy (Content-Security-Policy) names both scripts and the style by their hashes, so each is hashed as the browser sees it.

cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

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

set(minify --bundle --minify --charset=utf8 --log-level=warning)
run("${ESBUILD}" "${SOURCE}/src/main.js" ${minify} --format=iife "--outfile=${HTML}.js")
run("${ESBUILD}" "${SOURCE}/style/main.css" ${minify} "--outfile=${HTML}.css")
run("${ESBUILD}" "${SOURCE}/boot.js" --minify --charset=utf8 --log-level=warning "--outfile=${HTML}.boot.js")
file(WRITE "${HTML}.between" "<script>")
run("${CMAKE_COMMAND}" -E cat "${HTML}.css" "${HTML}.between" "${HTML}.js" OUTPUT_FILE "${HTML}.code")
run("${GZIP}" -9nc "${HTML}.code" OUTPUT_FILE "${HTML}.code.gz")
run("${BASE64}" -w 0 "${HTML}.code.gz" OUTPUT_FILE "${HTML}.packed")
run("${GZIP}" -9nc "${ENGINE}" OUTPUT_FILE "${HTML}.wasm.gz")
run("${BASE64}" -w 0 "${HTML}.wasm.gz" OUTPUT_FILE "${HTML}.engine")

file(READ "${SOURCE}/body.html" body)
file(READ "${SOURCE}/index.html" page)
string(REGEX REPLACE "\n *" "" body "${body}")
foreach(pair IN ITEMS SCRIPT:js BOOT:boot.js STYLE:css)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 name)
    list(GET pair 1 kind)
    file(SHA256 "${HTML}.${kind}" hash)
    base64_of_hash(${hash} hash)
    string(REPLACE "@${name}_HASH@" "sha256-${hash}" page "${page}")
endforeach()
foreach(pair IN ITEMS BOOT:boot.js ENGINE:engine PACKED:packed)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 name)
    list(GET pair 1 kind)
    file(READ "${HTML}.${kind}" text)
    string(REPLACE "@${name}@" "${text}" page "${page}")
endforeach()
string(REPLACE "@BODY@" "${body}" page "${page}")
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
