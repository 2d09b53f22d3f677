# Programs that fail before they allocate memory of a GPU: the answer repeats their own error. "exit": the status that
# `tidemark run` ends with, which is theirs.
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
exec 2>/dev/null # the shell names the process that signal 9 ends
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_live.so" ] || exit 77
fails() {
    (exec tidemark run --device virtual:h100-80 -- "$@") >all.txt 2>&1
    local status=$?
    grep '^tidemark run: ' all.txt | sed 's/^tidemark run: //'
    echo "exit $status"
}
echo 'import no_such_module' >missing_module.py
echo 'open("no_such_file.bin")' >missing_file.py
printf 'import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument("--data", required=True)\nparser.parse_args()\n' >arguments.py
printf 'class Own(Exception):\n    pass\n\n\nraise Own("first\\nsecond")\n' >own.py
echo 'raise RuntimeError' >silent.py
printf 'import sys\nsys.excepthook = lambda *of: None\nraise KeyError("a")\n' >hooked.py
printf 'try:\n    import no_such_module\nexcept ImportError:\n    raise SystemExit("install it")\n' >message.py
printf 'set -e\npython3 missing_file.py\n' >script.sh
printf 'python3 missing_file.py || true\nexit 3\n' >recovers.sh
fails python3 missing_module.py
fails python3 missing_file.py
fails python3 own.py
fails python3 silent.py
fails python3 hooked.py
fails python3 -c '1 / 0'
fails python3 arguments.py
fails python3 message.py
fails python3 -m no_such_module
fails python3 no_such_file.py
fails sh -c 'exec python3 missing_module.py'
fails sh script.sh
fails sh recovers.sh
fails sh -c 'kill -9 $$'
fails false
fails true
