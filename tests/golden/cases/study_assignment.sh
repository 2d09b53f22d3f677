# study assignment writes tables in three formats, pictures and a page into a folder, and overwrites nothing.
run() { tidemark study assignment "$@"; echo "exit $?"; }
run --size small --context 64 --steps 2 -o made
(cd made && ls)
cat made/README.md
head -n 3 made/memory.peaks.csv
head -n 5 made/memory.tex
sed -n 3,6p made/parameters.md
# Every picture is complete, and every link of the page leads to a file.
tail -qn 1 made/*.svg
grep -o '([a-z][^)]*)' made/README.md | tr -d '()' | grep '\.' | while read -r name; do [ -e "made/$name" ] || echo "missing: $name"; done
# A folder with files is refused, an empty one is taken; a run that does not fit gives status 3.
run --size small -o made
mkdir empty
run --size small --context 64 --steps 1 --device virtual:rtx4060 --batch 64 -o empty | tail -n 4
run --precision fp32
tidemark study memory -o made; echo "exit $?"
