# _caisson, from the arrays of table.awk.

# Inside '…[…]:…:…' of _arguments.
function escaped(text) {
    gsub(/'/, "'\\''", text)
    gsub(/\[/, "\\[", text)
    gsub(/\]/, "\\]", text)
    gsub(/:/, "\\:", text)
    return text
}

function action(cmd, name, list, kind) {
    list = words(cmd, name)
    kind = files(cmd, name)
    if (list == "" && kind == "") return " "
    if (kind == "") return "(" list ")"
    if (list == "") return kind == "dirs" ? "_files -/" : "_files"
    return "{ compadd " list "; " (kind == "dirs" ? "_files -/" : "_files") " }"
}

END {
    print "#compdef caisson"
    print "# zsh completion for caisson; generated."
    print ""
    print "_caisson_ids() {"
    print "    local -a ids"
    print "    ids=(${(f)\"$(caisson ps \"$@\" 2>/dev/null | sed -n '2,$s/ .*//p')\"})"
    print "    compadd -a ids"
    print "}"
    print ""
    print "_caisson() {"
    print "    local curcontext=$curcontext state line"
    print "    local -a subcommands"
    print "    subcommands=("
    for (c = 1; c <= n_cmds; c++) printf "        '%s:%s'\n", cmds[c], escaped(summary[cmds[c]])
    print "    )"
    print "    _arguments -C '(- *)--help[tell what can be done]' '(- *)--version[print the version]' '1: :->command' '*:: :->rest'"
    print "    case $state in"
    print "    command) _describe command subcommands ;;"
    print "    rest)"
    print "        case $words[1] in"
    for (c = 1; c <= n_cmds; c++) {
        cmd = cmds[c]
        printf "        %s)\n            _arguments -s -S -A '-*'", cmd
        for (i = 1; i <= n_flags[cmd]; i++) {
            name = flags[cmd, i]
            takes = arg[cmd, name] != ""
            tail = "'[" escaped(help[cmd, name]) "]" (takes ? (optional[cmd, name] ? "::" : ":") escaped(arg[cmd, name]) ":" action(cmd, name) : "") "'"
            long = "--" name (takes ? (optional[cmd, name] ? "=-" : "=") : "")
            short = letter[cmd, name] != "" ? "-" letter[cmd, name] (takes ? "+" : "") : ""
            printf " \\\n                '*'%s%s", short == "" ? long : "{" short "," long "}", tail
        }
        kind = operand(cmd)
        if (kind == "id" || kind == "exec") printf " \\\n                '1:id:_caisson_ids%s'", ps_flags(cmd)
        if (kind == "ids") printf " \\\n                '*:id:_caisson_ids%s'", ps_flags(cmd)
        if (kind == "command") printf " \\\n                '*::command:_normal'"
        if (kind == "exec") printf " \\\n                '*::command:_normal'"
        if (kind == "cmd") {
            printf " \\\n                '1:command:("
            for (i = 1; i <= n_cmds; i++) printf "%s%s", (i > 1 ? " " : ""), cmds[i]
            printf ")'"
        }
        print "\n            ;;"
    }
    print "        esac"
    print "        ;;"
    print "    esac"
    print "}"
    print ""
    print "if [ \"$funcstack[1]\" = _caisson ]; then _caisson \"$@\"; else compdef _caisson caisson; fi"
}
