# caisson.bash, from the arrays of table.awk.

function flag_words(cmd, i, name, out) {
    for (i = 1; i <= n_flags[cmd]; i++) {
        name = flags[cmd, i]
        out = out " --" name
        if (letter[cmd, name] != "") out = out " -" letter[cmd, name]
    }
    return substr(out, 2)
}

# The patterns of a flag in a case: "CMD --name | CMD -n"
function pattern(cmd, name, out) {
    out = "\"" cmd " --" name "\""
    if (letter[cmd, name] != "") out = out " | \"" cmd " -" letter[cmd, name] "\""
    return out
}

END {
    print "# bash completion for caisson; generated."
    print ""
    print "# _caisson_flags COMMAND: its flags"
    print "_caisson_flags() {"
    print "    case $1 in"
    for (c = 1; c <= n_cmds; c++) printf "    %s) echo '%s' ;;\n", cmds[c], flag_words(cmds[c])
    print "    esac"
    print "}"
    print ""
    print "# _caisson_values COMMAND FLAG: does it take the next word; sets words and files"
    print "_caisson_values() {"
    print "    words='' files=''"
    print "    case \"$1 $2\" in"
    for (c = 1; c <= n_cmds; c++)
        for (i = 1; i <= n_flags[cmds[c]]; i++) {
            name = flags[cmds[c], i]
            if (arg[cmds[c], name] == "") continue
            printf "    %s) words='%s' files='%s'%s ;;\n", pattern(cmds[c], name), words(cmds[c], name), \
                files(cmds[c], name), optional[cmds[c], name] ? "; return 1" : ""
        }
    print "    *) return 1 ;;"
    print "    esac"
    print "}"
    print ""
    print "_caisson_operand() {"
    print "    case $1 in"
    for (c = 1; c <= n_cmds; c++)
        if (operand(cmds[c]) != "") printf "    %s) echo '%s%s' ;;\n", cmds[c], operand(cmds[c]), ps_flags(cmds[c])
    print "    esac"
    print "}"
    print ""
    printf "_caisson_commands='"
    for (c = 1; c <= n_cmds; c++) printf "%s%s", (c > 1 ? " " : ""), cmds[c]
    print "'"
}
