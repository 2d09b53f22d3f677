# A picture is a file: its words, its sizes, and the same bytes each time.
tidemark profile --device virtual --layers 1 --warmup 0 --steps 2 -o run.json.gz >/dev/null
tidemark picture --help
tidemark picture run.json.gz -o run.svg
texts() { grep -o '<text.*</text>' "$1" | sed -E 's/<[^>]*>//g'; }
texts run.svg
tidemark picture run.json.gz -o again.svg >/dev/null && cmp run.svg again.svg && echo same
tidemark picture run.json.gz -o run.png
tidemark picture run.json.gz -o again.png >/dev/null && cmp run.png again.png && echo same
head -c 8 run.png | od -An -c
# A run that ran out of memory, and parts of one.
tidemark profile --device virtual --layers 1 --warmup 0 --steps 2 --memory-limit 300MiB -o oom.json.gz >/dev/null 2>&1
tidemark picture oom.json.gz -o oom.svg --title 'the small card' --width 500 && texts oom.svg
tidemark picture run.json.gz -o part.svg --hide parameters,gradient --hide optimizer_state --title '' && texts part.svg | sed -n '1,5p;$p'
# What cannot be drawn is refused, and no file is left.
rm -f *.svg *.png
tidemark picture run.json.gz
tidemark picture run.json.gz -o picture.pdf
tidemark picture run.json.gz -o picture.html
tidemark picture run.json.gz -o picture.svg --hide activations,gradient,rope_table
tidemark picture run.json.gz -o picture.svg --width 100
tidemark picture run.json.gz -o picture.svg --width 9000
tidemark picture run.json.gz -o picture.svg --height 10
tidemark picture run.json.gz -o picture.svg --width 240 --height 160
tidemark picture run.json.gz -o picture.svg --scale 2
tidemark picture run.json.gz -o picture.svg --x time
tidemark picture run.json.gz -o picture.svg --x space
tidemark picture run.json.gz -o picture.svg --device 1
tidemark picture missing.json.gz -o picture.svg
tidemark picture run.json.gz -o missing/picture.svg
# Nor is a file that is read, or the output of another command.
cp run.json.gz data.svg
tidemark picture data.svg -o data.svg
tidemark view run.json.gz -o page.png
ls
