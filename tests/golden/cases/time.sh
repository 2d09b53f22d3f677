# A launch log, made here, on the card that it names and on others.
tidemark time --help
python3 "$golden/launches/make_launches.py" train.launches
tidemark time train.launches
tidemark time train.launches --cards h100-80,a100-40,v100-16 --kernels 0
tidemark time train.launches --host-factor 0.5 --format csv | cut -d, -f 1-5
# More than 5 % is guessed: a lower bound, and no figure beyond it.
python3 "$golden/launches/make_launches.py" guessed.launches guessed
tidemark time guessed.launches --kernels 0
# Collectives of several nodes: of all ranks, of a group that may lie anywhere, and of cards without a known network.
for n_ranks in 16 12; do
    python3 "$golden/launches/make_launches.py" nodes.launches nodes "$n_ranks"
    tidemark time nodes.launches --cards h100-80,rtx4090 --kernels 0
done
# What is no log, what is cut, and a card without sources.
tidemark time train.json
echo no log >train.json
tidemark time train.json
head -c 200 train.launches >cut.launches
tidemark time cut.launches
for n_bytes in 6400 6420; do # behind the first step, between two rows and within one
    head -c "$n_bytes" train.launches >cut.launches
    tidemark time cut.launches --kernels 0
done
tidemark time train.launches --cards rtxpro6000
tidemark time train.launches --cards h100
