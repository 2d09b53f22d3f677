# On a terminal the table is a screen until q or Ctrl-C ends it, or the program does; then the terminal is as before, and
# the last table stays.
command -v script >/dev/null || {
    echo "no script (bsdutils): nothing here can be a terminal" >&2
    exit 77
}
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
maker=$folder/tests/live/live_made_log
[ -x "$maker" ] || exit 77
mkfifo hold
cat >inside.sh <<'END'
stty rows 12 cols 60
stty -g >before
tidemark top run.log --interval 0.1
echo "status $?"
stty -g >after
END
screen() { # WHAT ENDS_IT: presses it after a second, if it is a key
    "$maker" run.log 5 4 wait <hold >ready &
    local process=$!
    exec 7>hold
    until [ -s ready ]; do sleep 0.05; done
    { sleep 1; case $1 in end) kill $process; sleep 1 ;; *) printf "$1" ;; esac; sleep 0.3; } |
        TERM=xterm script -qec "bash inside.sh" /dev/null | tr '\033\r' '^\n' >seen
    exec 7>&-
    wait $process
    rm run.log ready
    cmp before after && echo "the terminal is as before"
    echo "pages: $(grep -c '^^\[?1049h' seen) entered, $(grep -c '\^\[?1049l' seen) left"
    [ "$(grep -o 'tidemark top, [0-9]* s old; q ends it' seen | wc -l)" -ge 3 ] && echo "shown again and again"
    echo "cut to the screen: $(grep -c '([0-9]* more lines)' seen | sed 's/^[1-9].*/yes/')"
    # Behind the second page: the whole table.
    sed -n '/?1049l/,$p' seen | grep -E 'activation|loss|status' | grep -v '^$'
}
screen q
screen '\003'
screen end
