# What all shells need: the table of `caisson help --table` in arrays.
#   cmds[1..n_cmds], summary[CMD], usage[CMD]
#   flags[CMD, 1..n_flags[CMD]] = NAME; letter, arg, optional, help [CMD, NAME]
#   words(CMD, NAME): what its value can be; files(CMD, NAME): "files", "dirs" or ""
#   operand(CMD): "id", "ids", "exec" (an id, then a command), "command", "cmd" (a subcommand) or ""

$1 == "cmd" {
    cmds[++n_cmds] = $2
    summary[$2] = $3
    usage[$2] = $4
}

$1 == "flag" {
    flags[$2, ++n_flags[$2]] = $3
    letter[$2, $3] = $4 == "-" ? "" : $4
    arg[$2, $3] = $5 == "-" ? "" : $5
    choices[$2, $3] = $6 == "-" ? "" : $6
    optional[$2, $3] = $7 == "optional"
    help[$2, $3] = $8
}

$1 == "words" {
    for (i = 3; i <= NF; i++) known[$2] = known[$2] (i > 3 ? " " : "") $i
}

# Choices; else the words that are known of the flag; else what the placeholder spells in small letters.
function words(cmd, name, list, n, i, part, out) {
    if (choices[cmd, name] != "") {
        out = choices[cmd, name]
        gsub(/\|/, " ", out)
        return out
    }
    out = known[name]
    n = split(arg[cmd, name], part, "|")
    for (i = 1; i <= n; i++)
        if (part[i] ~ /^[a-z]+$/) out = out (out == "" ? "" : " ") part[i]
    return out
}

function files(cmd, name) {
    if (arg[cmd, name] ~ /DIR/) return "dirs"
    return arg[cmd, name] ~ /FILE|PATH|SRC/ ? "files" : ""
}

function operand(cmd) {
    if (cmd == "help") return "cmd"
    if (usage[cmd] ~ /(^|[^A-Z])ID /) return "exec"
    if (usage[cmd] ~ /(^|[^A-Z])ID/) return usage[cmd] ~ /ID\.\.\.|ID…|\[ID/ ? "ids" : "id"
    return usage[cmd] ~ /COMMAND/ ? "command" : ""
}

# Are finished sessions meant too, and can ps list them?
function ps_flags(cmd) {
    return cmd ~ /^(logs|wait|rm)$/ && ("ps", "all") in letter ? " --all" : ""
}
