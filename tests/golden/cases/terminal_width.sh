# On a terminal, the text tables of every command fit its width. --wide and pipes show them in full.
command -v script >/dev/null || {
    echo "no script (bsdutils): nothing here can be a terminal" >&2
    exit 77
}
on_terminal() { # COLUMNS COMMAND...
    local columns=$1
    shift
    script -qec "stty cols $columns; $*" /dev/null </dev/null | tr -d '\r'
}
longest() { grep '^  ' | LC_ALL=C.UTF-8 wc -L; } # the length of the longest table line
fit="tidemark fit --size 2.7B --context 512 --device virtual:h100-80 --device virtual:a100-80 --steps 2"
echo "== 80 columns"
on_terminal 80 "$fit" | sed -n '/^what fits/,$p'
echo "== COLUMNS"
COLUMNS=120 on_terminal 80 "$fit" | sed -n '/^what fits/,$p'
echo "== the longest line: a pipe, a terminal of 80, of 80 with --wide, of 300, of an unknown width"
$fit | longest
on_terminal 80 "$fit" | longest
on_terminal 80 "$fit --wide" | longest
on_terminal 300 "$fit" | longest
on_terminal 0 "$fit" | longest
tidemark profile --size small --context 16 --device virtual --warmup 0 --steps 1 -o a.json.gz >/dev/null
echo "== texts are cut"
on_terminal 60 LC_ALL=C.UTF-8 tidemark summary a.json.gz --top 2 >cut
sed -n '/^Where the reserved/,/^$/p; /^  bytes  *what/,/^$/p; $p' cut
longest <cut
on_terminal 60 tidemark summary a.json.gz | grep -F 'free, and'
on_terminal 60 tidemark summary a.json.gz --wide | grep -c 'are cut to the width'
echo "== every command that prints tables takes --wide"
for command in profile summary compare replay check-reference fit forecast sweep study bench devices; do
    echo "$command: $(tidemark $command --help | grep -c -- '^  --wide ')"
done
