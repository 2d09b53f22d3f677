# The manual page names every command and, in the command's section, every option that its --help names.
tidemark --manual >page
check() { # PART NAME...: that section of the page must print every NAME in bold.
    local part=$1 name bold end='^\.S[SH] '
    shift
    [[ $part != [A-Z]* ]] || end='^\.SH ' # a section, with its subsections
    sed -n "/^\.S[SH] \"*$part\"*\$/,/$end/p" page >part
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
# The page and --help list every environment variable that the sources read, and no other.
cd "$golden/../.." || exit 1
asked=$(grep -rhoE 'getenv\("[A-Z_]+"' --include="*.[ch]" --include="*.cu" --exclude=python_package.c allocator capture cli common device model recorder replay snapshot stack viewer |
    grep -o '[A-Z][A-Z_]*' | sort)
[ -n "$asked" ] || echo "no getenv found"
cd "$OLDPWD" || exit 1
check ENVIRONMENT $asked
for name in $asked; do
    tidemark --help | grep -q "^  $name " || echo "missing in --help: $name"
done
for name in $(sed -n '/^\.SH ENVIRONMENT/,/^\.SH /s/^\\fB\(TIDEMARK_[A-Z_]*\).*/\1/p' page); do
    case " $(echo $asked) " in *" $name "*) ;; *) echo "no source reads $name" ;; esac
done
# The commands accept the examples of the page. They run on the virtual device, which computes nothing.
sed -n '/^\.SH EXAMPLES/,$p' page | grep '^tidemark' | sed 's/\\-/-/g; s/--device cpu/--device virtual/' >examples
bash -e examples >/dev/null || echo "an example fails"
wc -l <examples
# The case prints the page's headings.
grep '^\.S[SH]' page
