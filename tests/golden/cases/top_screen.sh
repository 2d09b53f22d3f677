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
pages() {
    grep -ao 'tidemark top, [0-9]* s old; q ends it' raw | wc -l
}
screen() { # WHAT ENDS_IT: presses it when the table was shown three times, if it is a key
    "$maker" run.log 5 4 wait <hold >ready &
    local process=$!
    exec 7>hold
    until [ -s ready ]; do sleep 0.05; done
    : >raw >after
    {
        until [ "$(pages)" -ge 3 ]; do sleep 0.05; done
        case $1 in end) kill $process ;; *) printf "$1" ;; esac
        until [ -s after ]; do sleep 0.05; done
    } | TERM=xterm script -qec "bash inside.sh" /dev/null >raw
    tr '\033\r' '^\n' <raw >seen
    exec 7>&-
    wait $process
    rm run.log ready
    cmp before after && echo "the terminal is as before"
    echo "pages: $(grep -c '^^\[?1049h' seen) entered, $(grep -c '\^\[?1049l' seen) left"
    [ "$(pages)" -ge 3 ] && echo "shown again and again"
    echo "cut to the screen: $(grep -c '([0-9]* more lines)' seen | sed 's/^[1-9].*/yes/')"
    # Behind the second page: the whole table.
    sed -n '/?1049l/,$p' seen | grep -E 'activation|loss|status' | grep -v '^$'
}
screen q
screen '\003'
screen end
