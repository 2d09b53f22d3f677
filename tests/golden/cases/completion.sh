# These checks call the completion as bash does: bash splits the line at = and : too.
source <(tidemark --completion)
complete -p tidemark
answer() { # WORD...: prints the sorted completions of the last word
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
# These words complete to commands and to the options that may replace a command.
answer tidemark ''
answer tidemark s
answer tidemark --
# These words complete to options of the command.
answer tidemark summary --
answer tidemark view -
answer tidemark profile --st
answer tidemark nonsense --
# These words complete to values: of a choice, in a comma list, after = and of an alias.
answer tidemark summary --format ''
answer tidemark profile --size m
answer tidemark profile --size small,
answer tidemark profile --size small,medium,l
answer tidemark profile --precision = bf
answer tidemark profile --mode =
answer tidemark profile --precision = fp32,b
answer tidemark profile --model-size 2
answer tidemark profile --size small --mode f
# These words complete to the names of virtual cards.
# All cards of `devices` are offered, whichever they are: here they are printed as ALL CARDS.
all_cards() { # PREFIX
    local cards
    cards=$(tidemark devices --cards --format csv --table cards | awk -F, -v before="$1" 'NR > 1 { print "[" before $1 "]" }' | sort | tr '\n' ' ')
    while read -r line; do
        printf '%s\n' "${line/"${cards% }"/ALL CARDS}"
    done
}
answer tidemark profile --device v | all_cards virtual:
answer tidemark profile --device virtual : | all_cards ''
answer tidemark profile --device virtual : h1
answer tidemark profile --device = virtual : a100-
answer tidemark check-reference --device ''
# Options and operands that take a file complete to files; the others do not.
answer tidemark profile --config m
answer tidemark profile --output = ru
answer tidemark profile -o runs
answer tidemark compare run.json.gz my
answer tidemark view -- -
answer tidemark dump -- r
answer tidemark profile --steps ''
answer tidemark profile m
answer tidemark devices ''
# A program follows the options of run, and its arguments are files.
answer tidemark help s
answer tidemark run model.
answer tidemark run --device virtual : t4 python model.
answer tidemark run --device = virtual : t4 --time python --device my
answer tidemark run -- python ru
answer tidemark fit --vary batch=1..4 python --steps my
# Some shells are configured not to split words at a colon.
answer tidemark profile --device virtual:h1
answer tidemark profile --device=virtual:h1
# The completion offers every option that --help names.
for command in $(tidemark --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    offered=" $(answer tidemark "$command" -) "
    tidemark "$command" --help | sed -nE 's/^  (-[a-z], )?(--?[a-z-]+)( .*)?$/\2/p' |
        while read -r option; do
            [[ $offered == *"[$option]"* ]] || echo "$command: $option is not offered"
        done
done
