# Joins the viewer's modules, style and page into one self-contained HTML file, and that into C arrays.
#   cmake -DSOURCE=viewer -DMODULES=a.js,b.js -DHTML=viewer.html -DARRAYS=viewer_page.c -P JoinViewer.cmake
#
# A module's imports name modules that stand before it in MODULES, so the joined text is the modules one after the
# other, without their import lines, the word export, comments, indentation and the spaces about punctuation in front of
# a line's first template, double quote or regular expression: no text of a module runs over lines, holds " // " or an
# escaped quote, and no regular expression begins with a space. All names at the top level of a module are therefore
# unique in the viewer; the browser refuses the page otherwise, and a test opens it.

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
    # Each round takes one space of every line, from the right. + and - only between words: "a + +b" is no "a++b".
    set(code "([^'\"`/\n]|'[^'\n]*'| / )*")
    set(before "")
    while(NOT text STREQUAL before)
        set(before "${text}")
        string(REGEX REPLACE "\n(${code}[][,;:{}()=<>?*|&]) " "\n\\1" text "${text}")
        string(REGEX REPLACE "\n(${code}) ([][,;:{}()=<>?*|&!])" "\n\\1\\3" text "${text}")
        string(REGEX REPLACE "\n(${code}[A-Za-z0-9_)]) ([-+]) ([A-Za-z0-9_(])" "\n\\1\\3\\4" text "${text}")
    endwhile()
    string(REGEX REPLACE "([;{,(])\n" "\\1" text "${text}")
    string(REGEX REPLACE "\n([]})])" "\\1" text "${text}")
    string(APPEND script "${text}")
endforeach()
file(READ "${SOURCE}/style.css" style)
string(REGEX REPLACE "\n +" "\n" style "${style}")
string(REGEX REPLACE " ?([{};]) +" "\\1" style "${style}")
string(REGEX REPLACE "; ?}" "}" style "${style}")
string(REGEX REPLACE "([a-z]): " "\\1:" style "${style}")
file(READ "${SOURCE}/index.html" page)
string(REGEX REPLACE "\n +" "\n" page "${page}")

string(SHA256 script_hash "${script}")
string(SHA256 style_hash "${style}")
base64_of_hash(${script_hash} script_hash)
base64_of_hash(${style_hash} style_hash)
string(REPLACE "@SCRIPT_HASH@" "sha256-${script_hash}" page "${page}")
string(REPLACE "@STYLE_HASH@" "sha256-${style_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
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
