# The manual page names every command and, in the command's part, every option that its --help names.
tidemark --manual >page
check() { # PART NAME...: the page's part, from its heading to the next, names all in bold.
    local part=$1 name bold
    shift
    sed -n "/^\.S[SH] \"*$part\"*\$/,/^\.S[SH] /p" page >part
    for name in "$@"; do
        bold="\\fB${name//-/\\-}\\fR"
        grep -qF -- "$bold" part || echo "missing in $part: $name"
    done
}
names() { sed -nE 's/^  (-[a-z]), (--[a-z-]+).*/\1 \2/p; s/^  (--?[a-z-]+)( .*)?$/\1/p'; }
commands=$(tidemark --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p')
check DESCRIPTION $commands
check OPTIONS --help -h $(tidemark --help | grep -o -- '--[a-z-]*' | sort -u)
for command in $commands; do
    options=$(tidemark "$command" --help | names)
    check "tidemark ${command//-/\\\\-}" $options
    echo "$command: $(echo $options | wc -w) options"
done
# The page's headings.
grep '^\.S[SH]' page
