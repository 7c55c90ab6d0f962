
# Names of contacts, groups and peers. The program is asked for them at each completion.
_endseal_list() {
    local home=() index
    for ((index = 1; index < COMP_CWORD; index++)); do
        if [[ "${COMP_WORDS[index]}" == --home ]]; then
            home=(--home "${COMP_WORDS[index + 1]}")
        fi
    done
    local kind
    for kind in "$@"; do
        endseal "${home[@]}" "$kind" list 2>/dev/null </dev/null | cut -d ' ' -f 1
    done
}

_endseal_with_names() {
    local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" above=""
    if ((COMP_CWORD > 1)); then
        above="${COMP_WORDS[COMP_CWORD - 2]}"
    fi
    local kinds=() suffix=""
    case "$above $before" in
        *" -r" | *" --recipient" | "contacts remove" | "contacts rename") kinds=(contacts) ;;
        "contacts verify" | "devices list") kinds=(contacts) ;;
        *" -g" | *" --group" | "group add" | "group remove" | "group rotate") kinds=(group) ;;
        "group show" | "group export") kinds=(group) ;;
        *" say" | *" history") kinds=(contacts group) ;;
        "peers remove") kinds=(peers) ;;
        *" send" | *" ping")
            kinds=(peers)
            suffix="@"
            ;;
    esac
    if ((${#kinds[@]} == 0)) || [[ "$cur" == -* || "$cur" == *@* ]]; then
        _endseal "$@"
        return
    fi
    if [[ -n "$suffix" ]]; then
        compopt -o nospace
    fi
    COMPREPLY=($(compgen -S "$suffix" -W "$(_endseal_list "${kinds[@]}")" -- "$cur"))
}

complete -F _endseal_with_names -o bashdefault -o default endseal
