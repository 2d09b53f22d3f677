# Without a file, the command writes the page without data and opens it in the browser. Where none can be opened it says
# where the page is. A file of the user's is not replaced.
mkdir bin
printf '#!/bin/sh\necho "$1" >>opened\n' >bin/xdg-open
chmod +x bin/xdg-open
PATH=$PWD/bin:$PATH tidemark view
PATH=$PWD/bin:$PATH tidemark view -o other.html
cat opened
grep -c 'Drop snapshots here' viewer.html other.html
grep -c 'class="tidemark-snapshot"' viewer.html
printf '#!/bin/sh\nexit 3\n' >bin/xdg-open
PATH=$PWD/bin:$PATH tidemark view
echo "my own page" >viewer.html
PATH=$PWD/bin:$PATH tidemark view
