# ./dev demo prints ten lines and a path. When a step fails, it prints the name of the log and the log's last lines.
export TIDEMARK_PYTORCH=none # whether a PyTorch is here must not matter
here() { sed "s|$PWD|HERE|"; }
demo=$golden/../../docs/demo.sh
bash "$demo" "$(command -v tidemark)" out | here
echo "lines: $(bash "$demo" "$(command -v tidemark)" out | wc -l)"
ls out
cat out/comparison.txt
echo "widest line of the comparison: $(wc -L <out/comparison.txt)"
tidemark summary out/pytorch.json.gz | sed -n 1p
tidemark summary out/tidemark.json.gz | sed -n 1p

cat >broken <<'END'
#!/bin/sh
echo "no room on this machine" >&2
exit 1
END
chmod +x broken
bash "$demo" ./broken failed 2>&1 | here

# Here ./dev demo itself runs, and its build fails.
mkdir bin docs
cp "$golden/../../dev" dev
cp "$demo" docs/
printf '#!/bin/sh\nfor i in $(seq 40); do echo "line $i of the compiler"; done; exit 1\n' >bin/cmake
printf '#!/bin/sh\necho "no packages here" >&2; exit 1\n' >bin/apt-get
chmod +x bin/*
PATH=$PWD/bin:$PATH CI=1 ./dev demo >said 2>&1 </dev/null
echo "exit $?"
grep -q "^missing packages" said && { echo "packages that build tidemark are missing" >&2; exit 77; }
here <said
