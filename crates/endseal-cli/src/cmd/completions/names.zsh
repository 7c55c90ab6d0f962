
# Names of contacts, groups and peers. The program is asked for them at each completion.
_endseal_list() {
    local -a home
    local index kind
    for ((index = 2; index < CURRENT; index++)); do
        if [[ "${words[index]}" == --home ]]; then
            home=(--home "${words[index + 1]}")
        fi
    done
    for kind in "$@"; do
        endseal $home $kind list 2>/dev/null </dev/null | cut -d ' ' -f 1
    done
}

_endseal_with_names() {
    local before="${words[CURRENT - 1]}" above=""
    if ((CURRENT > 2)); then
        above="${words[CURRENT - 2]}"
    fi
    local -a kinds suffix
    case "$above $before" in
        *" -r" | *" --recipient" | "contacts remove" | "contacts rename") kinds=(contacts) ;;
        "contacts verify" | "devices list") kinds=(contacts) ;;
        *" -g" | *" --group" | "group add" | "group remove" | "group rotate") kinds=(group) ;;
        "group show" | "group export") kinds=(group) ;;
        *" say" | *" history") kinds=(contacts group) ;;
        "peers remove") kinds=(peers) ;;
        *" send" | *" ping")
            kinds=(peers)
            suffix=(-S @)
            ;;
    esac
    local current="${words[CURRENT]}"
    if ((${#kinds} == 0)) || [[ "$current" == -* || "$current" == *@* ]]; then
        _endseal "$@"
        return
    fi
    compadd $suffix -- ${(f)"$(_endseal_list $kinds)"}
}

compdef _endseal_with_names endseal
