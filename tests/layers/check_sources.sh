#!/usr/bin/env bash
# Checks rules that no compiler checks: check_sources.sh ROOT
#   - a module includes only the modules of its row in knows(), and the folders of cli/ and of model/commands/ do not include
#     each other
#   - only its own folder includes an internal header, and only the folders in FRIENDS include a friend header
#   - the list of installed headers names exactly the headers that tidemark.h includes
#   - a module below programs/ never asks by a weak symbol for what another may define
#   - a file of programs/virtual_cuda/ keeps its state in one struct, and that of its threads in another
#   - libraries never print, exit or abort, and in cli/ one printer prints
#   - no file has more than 500 lines, and no function more than 60
#   - no folder has more than 40 files of its own
#   - the page inserts user text as text, never as HTML
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 1
failures=0

FILE_LINES=500
FUNCTION_LINES=60
FOLDER_FILES=40

fail() {
    printf 'layers: %s\n' "$1" >&2
    failures=$((failures + 1))
}

# knows MODULE: prints the modules that MODULE may include.
knows() {
    case "$1" in
    common) echo "common" ;;
    device) echo "common device" ;;
    stack) echo "common stack" ;;
    recorder) echo "common device stack recorder" ;;
    allocator) echo "common device stack recorder allocator" ;;
    snapshot) echo "common snapshot" ;;
    report) echo "common snapshot report" ;;
    capture) echo "common device stack recorder allocator snapshot capture" ;;
    replay) echo "common device stack recorder allocator snapshot replay" ;;
    model) echo "common device stack recorder allocator programs/wire model" ;;
    model/run) echo "common device stack recorder allocator snapshot capture model programs/wire programs/launch programs/runs model/run" ;;
    model/bench) echo "common device stack recorder allocator snapshot model model/run programs/runs model/bench" ;;
    model/commands) echo "$(knows cli) model model/run model/bench model/commands" ;;
    programs/wire) echo "common programs/wire" ;;
    programs/virtual_cuda) echo "common device programs/wire programs/step_time programs/virtual_cuda" ;;
    programs/step_time) echo "common device programs/wire programs/step_time" ;;
    programs/launch) echo "common device snapshot capture programs/wire programs/step_time programs/launch" ;;
    programs/runs) echo "common device recorder allocator snapshot capture replay programs/wire programs/launch programs/step_time programs/runs" ;;
    programs/plan) echo "common device recorder allocator snapshot capture replay programs/wire programs/launch programs/step_time programs/runs programs/plan" ;;
    programs/scratch) echo "programs/scratch" ;;
    programs/live) echo "common device stack recorder programs/wire programs/live" ;;
    viewer) echo "common viewer" ;;
    picture) echo "common snapshot picture" ;;
    cli) echo "common device stack recorder allocator snapshot capture replay report programs/wire programs/virtual_cuda programs/step_time programs/launch programs/runs programs/plan viewer picture cli" ;;
    esac
}

# The page's engine also answers with reports of the program.
ENGINE_KNOWS="report cli"

LIBRARIES="common device stack recorder allocator snapshot report capture replay model model/run model/bench programs/wire programs/virtual_cuda programs/step_time programs/launch programs/runs programs/plan programs/scratch programs/live viewer picture"
MODULES="$LIBRARIES model/commands cli"

# Each line names a friend header (_friend.h) and the folders besides its own that may include it. A friend header gives
# a neighbouring module more than the public headers do, so a new friend needs a deliberate change of this table.
FRIENDS="
allocator/replay_friend.h: capture replay
common/lock_friend.h: allocator programs/live recorder replay
common/tick_clock_friend.h: recorder
device/cuda_friend.h: model/ops_cuda
device/device_friend.h: recorder replay
model/ops_cuda/ops_cuda_friend.h: model/ops_cuda/attention model/ops_cuda/decode
programs/live/state_friend.h: programs/live/entries
programs/runs/run_friend.h: model/run
programs/scratch/entries/calls_friend.h: programs/scratch
programs/virtual_cuda/card/account_friend.h: programs/virtual_cuda/process
programs/virtual_cuda/libraries/cudnn/work_friend.h: programs/virtual_cuda/libraries
programs/virtual_cuda/libraries/stub_friend.h: programs/virtual_cuda/libraries/cudnn
recorder/copy_friend.h: allocator
recorder/log_format_friend.h: capture programs/live
recorder/recorder_friend.h: allocator capture model/bench model/workload programs/live replay
snapshot/analysis/own_rules_friend.h: snapshot/wasm
snapshot/analysis/path_text_friend.h: snapshot/explain
snapshot/analysis/stack_signs_friend.h: snapshot/explain
snapshot/document/point_set_friend.h: capture snapshot/pytorch
snapshot/document/stack_tree_friend.h: snapshot/pytorch
snapshot/explain/causes/causes_friend.h: snapshot/explain/words
snapshot/export/export_friend.h: snapshot/pytorch
snapshot/format/json_friend.h: snapshot/pytorch
snapshot/format/writer_friend.h: snapshot/wasm
"

# Folders of data, where each file is one more of the same. Each line: FOLDER: why.
FULL_FOLDERS="
tests/golden/cases: a file is a case, or what a case prints
tests/pytorch/zoo: a file is a program that a user would write
"

# Known violations of the rules, one FILE, FOLDER or FOLDER:HEADER a line. This list may only shrink.
UNFINISHED="
"
unfinished() { [[ $UNFINISHED == *$'\n'"$1"$'\n'* ]]; }

# is_friend FOLDER HEADER: succeeds when FRIENDS names FOLDER for HEADER.
is_friend() {
    local line
    line=$(grep -m 1 "^$2: " <<<"$FRIENDS") || return 1
    [[ " ${line#*: } " == *" $1 "* ]]
}

# module_of PATH: sets module, the top folder of a file or header; in programs/, a wing, the folder within it. So are the
# folders of model/ that stand on the engine of runs or on the shell.
module_of() {
    case "$1" in
    model/run/* | model/bench/* | model/commands/*) module=${1#model/} && module=model/${module%%/*} ;;
    programs/*/*) module=${1#programs/} && module=programs/${module%%/*} ;;
    *) module=${1%%/*} ;;
    esac
}

sources_of() { find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cpp' \) 2>/dev/null | sort -u; }

# includes_of FOLDER...: prints FILE:LINE:HEADER for every quoted include whose path has a folder.
includes_of() {
    sources_of "$@" | xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[a-z_]+/' |
        sed -E 's/^([^:]+:[0-9]+):[^"]*"([^"]+)".*/\1:\2/'
}

check_includes() {
    local file line header module of_header allowed folder
    while IFS=: read -r file line header; do
        module_of "$header"
        of_header=$module
        module_of "$file"
        folder=${file%/*}
        allowed=" $(knows "$module") "
        [[ $folder != snapshot/wasm ]] || allowed=" $(knows snapshot) $ENGINE_KNOWS "
        if [[ " $MODULES tests " == *" $of_header "* && $allowed != *" $of_header "* ]]; then
            fail "$file:$line: $module must not include $of_header/"
        fi
        [ "${header%/*}" != "$folder" ] || continue
        if [[ $module == cli && $header == cli/*/* && $header != cli/options/* && $header != cli/words/* ]]; then
            fail "$file:$line: $header is of another room of cli/; rooms share cli/ itself, cli/options/ and cli/words/"
        fi
        case $module:$header in
        model/commands:cli/options/* | model/commands:cli/words/* | model/commands:cli/*/options.h) ;;
        model/commands:model/commands/options/*) ;;
        model/commands:cli/*/* | model/commands:model/commands/*/*)
            fail "$file:$line: $header is of another room; rooms share cli/ itself, cli/options/, cli/words/, the options.h of a room of cli/, and model/commands/options/"
            ;;
        esac
        case "$header" in
        */internal.h | *_internal.h)
            unfinished "$folder:$header" || fail "$file:$line: $header is for its own folder alone"
            ;;
        *_friend.h)
            is_friend "$folder" "$header" ||
                fail "$file:$line: $header is for friends, and FRIENDS in check_sources.sh does not name $folder"
            ;;
        esac
    done < <(includes_of $MODULES)
}

# FRIENDS must not name a folder that no longer includes the header.
check_friends() {
    local header folders folder includes
    includes=$(includes_of $MODULES)
    while IFS=: read -r header folders; do
        [ -n "$header" ] && [ -e "$header" ] || continue
        for folder in $folders; do
            grep -qE "^$folder/[^/]+:[0-9]+:$header$" <<<"$includes" ||
                fail "FRIENDS names $folder for $header, which includes it nowhere"
        done
    done <<<"$FRIENDS"
}

# cmake/public_headers.txt lists tidemark.h and every header that it includes, directly or not, and no other.
check_public_headers() {
    local list=cmake/public_headers.txt queue=tidemark.h reached='' header
    [ -e "$list" ] || return 0
    while [ -n "$queue" ]; do
        header=${queue%% *}
        queue=${queue#"$header"}
        queue=${queue# }
        [[ " $reached " != *" $header "* ]] || continue
        reached="$reached $header"
        for header in $(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]+"([^"]+)".*/\1/p' "$header"); do
            queue="$queue${queue:+ }$header"
        done
    done
    while IFS= read -r header; do
        fail "$list and the headers that tidemark.h includes differ: $header"
    done < <(diff <(grep -v '^#' "$list" | sort) <(tr ' ' '\n' <<<"${reached# }" | sort) | grep '^[<>]')
}

# A weak symbol is a call of a module above, which no include shows: let the module above set a hook, as
# common/real_time.h. The preloaded objects of programs/ may look for each other so, because each works without the
# others.
check_weak() {
    local module found
    for module in $MODULES; do
        [[ $module != programs/* ]] || continue
        while IFS= read -r found; do
            fail "$found: no weak symbols; let the module above set a hook"
        done < <(sources_of "$module" | xargs -r grep -HnE '__attribute__\(\(.*\bweak(ref)?\b|#[[:space:]]*pragma[[:space:]]+weak')
    done
}

# No caller could pass its state to an object that is preloaded. So a file may have one variable for it, and one for that
# of a thread: structs, whose members say what guards them. The lock of TIDE_VC_LOCK does not count.
check_state() {
    local found
    while IFS= read -r found; do
        fail "$found"
    done < <(sources_of programs/virtual_cuda | xargs -r awk -f "$here/file_state.awk")
}

# programs/launch/, programs/runs/ and model/bench/ may call _exit: a child that they forked must not flush the buffered files of its
# parent. So may programs/virtual_cuda/, which lives in the user's process and has none of our callers to report to: it
# prints what it does not know (inexact.c), and ends a program whose cards are unknown (machine.c). programs/live/entries/
# entry_exit.c is the program's own _exit.
check_libraries() {
    local library module found leaving
    for library in $LIBRARIES; do
        leaving='exit|_exit|abort'
        [[ " programs/launch programs/runs model/bench programs/virtual_cuda " != *" $library "* ]] || leaving='exit|abort'
        while IFS= read -r found; do
            module_of "$found"
            [ "$module" = "$library" ] || continue # a folder within it that is a module of its own
            [[ $found != programs/virtual_cuda/process/inexact.c:* && $found != programs/virtual_cuda/card/machine.c:* && $found != programs/live/entries/entry_exit.c:* ]] || continue
            fail "$found: a library must not print, exit or abort"
        done < <(sources_of "$library" | xargs -r grep -HnE \
            "(^|[^A-Za-z0-9_])($leaving|printf|puts|putchar|perror)[[:space:]]*\(|fprintf[[:space:]]*\([[:space:]]*std(err|out)")
    done
}

# Names in messages come from files and programs. tide_cli_note, tide_cli_print and report/ escape what a terminal would
# interpret. These files print on their own: the printer, the terminal's control sequences, and numbers beside escaped
# fields.
PRINTERS="cli/cli.c cli/progress.c cli/top/screen.c cli/commands/dump.c report/harmless.c"
check_printer() {
    local found
    while IFS= read -r found; do
        [[ " $PRINTERS " == *" ${found%%:*} "* ]] ||
            fail "$found: print with tide_cli_note or tide_cli_print (cli/cli.h), which escape control characters in names"
    done < <(sources_of cli model/commands report | xargs -r grep -HnE \
        '(^|[^A-Za-z0-9_])(v?printf|puts|putchar|perror)[[:space:]]*\(|(v?fprintf|d?printf)[[:space:]]*\([[:space:]]*(std(err|out)|STD)|(fputs|fputc|putc|fwrite)[[:space:]]*\(.*,[[:space:]]*std(err|out)\)')
}

check_lengths() {
    local n_lines file found
    while read -r n_lines file; do
        [ "$file" = total ] || [ "$n_lines" -le $FILE_LINES ] || unfinished "$file" ||
            fail "$file: $n_lines lines; one concept a file, $FILE_LINES at most"
    done < <(find $MODULES tests cmake docs -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cpp' \
        -o -name '*.js' -o -name '*.mjs' -o -name '*.css' -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' \
        -o -name CMakeLists.txt \) -not -path '*/node_modules/*' -print0 2>/dev/null | xargs -0 -r wc -l)
    # The limit covers only C and CUDA: in the page, a panel is one function that encloses all of its helpers.
    while IFS= read -r found; do
        fail "$found; a function has $FUNCTION_LINES at most"
    done < <(sources_of $MODULES | xargs -r awk -v limit=$FUNCTION_LINES -f "$here/function_lengths.awk")
}

check_folders() {
    local n_files folder line full=''
    while read -r n_files folder; do
        [ "$n_files" -gt $FOLDER_FILES ] || continue
        full="$full $folder"
        grep -q "^$folder: " <<<"$FULL_FOLDERS" || unfinished "$folder" ||
            fail "$folder/: $n_files files of its own; $FOLDER_FILES at most, by concept in folders of their own"
    done < <(find $MODULES python docs tests -type f -not -path '*/node_modules/*' -not -path '*/__pycache__/*' \
        -printf '%h %f\n' 2>/dev/null | sort -u | cut -d ' ' -f 1 | uniq -c)
    while IFS= read -r line; do
        folder=${line%%: *}
        [ -z "$folder" ] || [ ! -e "$folder" ] || [[ "$full " == *" $folder "* ]] ||
            fail "FULL_FOLDERS names $folder, which has $FOLDER_FILES files or fewer"
    done <<<"$FULL_FOLDERS"
}

check_page() {
    local found
    while IFS= read -r found; do
        unfinished "${found%%:*}" || fail "$found: user text must enter the page through textContent only"
    done < <(find viewer -name '*.js' -not -path '*/node_modules/*' 2>/dev/null |
        xargs -r grep -nHE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function')
}

check_includes
check_friends
check_public_headers
check_weak
check_state
check_libraries
check_printer
check_lengths
check_folders
check_page
[ "$failures" -eq 0 ]
