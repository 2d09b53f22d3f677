# The completion for bash, as bash calls it: it cuts the line at = and : too.
source <(tidemark --completion)
complete -p tidemark
answer() { # WORD...: what is offered for the last one, sorted
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _tidemark
    printf '%s ->' "$*"
    [ ${#COMPREPLY[@]} -eq 0 ] || printf '[%s]\n' "${COMPREPLY[@]}" | sort | sed 's/^/ /' | tr -d '\n'
    echo
}
touch run.json.gz 'my run.json.gz' model.json
mkdir runs
# Commands, and what stands in their place.
answer tidemark ''
answer tidemark s
answer tidemark --
# Options of the command.
answer tidemark summary --
answer tidemark view -
answer tidemark profile --st
answer tidemark nonsense --
# Values: of a choice, of a comma list, after =, and of an alias.
answer tidemark summary --format ''
answer tidemark profile --size m
answer tidemark profile --size small,
answer tidemark profile --size small,medium,l
answer tidemark profile --precision = bf
answer tidemark profile --mode =
answer tidemark profile --precision = fp32,b
answer tidemark profile --model-size 2
answer tidemark profile --size small --mode f
# Cards.
answer tidemark profile --device v
answer tidemark profile --device virtual :
answer tidemark profile --device virtual : h
answer tidemark profile --device = virtual : a100-
answer tidemark check-reference --device ''
# Files: of options and operands; none where a number or nothing is taken.
answer tidemark profile --config m
answer tidemark profile --output = ru
answer tidemark profile -o runs
answer tidemark compare run.json.gz my
answer tidemark view -- -
answer tidemark dump -- r
answer tidemark profile --steps ''
answer tidemark profile m
answer tidemark devices ''
# Elsewhere the words are not cut at :.
answer tidemark profile --device virtual:h1
answer tidemark profile --device=virtual:h1
# Every option that --help names is offered.
for command in $(tidemark --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    offered=" $(answer tidemark "$command" -) "
    tidemark "$command" --help | sed -nE 's/^  (-[a-z], )?(--?[a-z-]+)( .*)?$/\2/p' |
        while read -r option; do
            [[ $offered == *"[$option]"* ]] || echo "$command: $option is not offered"
        done
done
