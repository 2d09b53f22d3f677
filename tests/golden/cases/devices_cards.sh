# One card of each table. The widths of the columns depend on the cards.
tidemark devices --cards >cards
echo "exit $?"
sed -n '/h100-80/p' cards | tr -s ' '
sed -n '/^  gb200/p' cards | tr -s ' '
tidemark devices --cards --format csv | sed -n '1p; /^gb200/p'
grep -c . cards
