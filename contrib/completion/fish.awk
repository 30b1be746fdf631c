# caisson.fish, from the arrays of table.awk.

function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/'/, "\\'", text)
    return "'" text "'"
}

END {
    print "# fish completion for caisson; generated."
    print "function __caisson_ids"
    print "    caisson ps $argv 2>/dev/null | string replace -r ' .*' '' | tail -n +2"
    print "end"
    print "complete -c caisson -f"
    for (c = 1; c <= n_cmds; c++) {
        cmd = cmds[c]
        printf "complete -c caisson -n __fish_use_subcommand -a %s -d %s\n", cmd, quoted(summary[cmd])
        seen = "-n '__fish_seen_subcommand_from " cmd "'"
        for (i = 1; i <= n_flags[cmd]; i++) {
            name = flags[cmd, i]
            line = "complete -c caisson " seen " -l " name
            if (letter[cmd, name] != "") line = line " -s " letter[cmd, name]
            if (arg[cmd, name] != "" && !optional[cmd, name]) line = line (files(cmd, name) == "" ? " -x" : " -r -F")
            list = words(cmd, name)
            if (list != "") line = line " -a " quoted(list)
            print line " -d " quoted(help[cmd, name])
        }
        kind = operand(cmd)
        if (kind == "id" || kind == "ids" || kind == "exec")
            printf "complete -c caisson %s -a '(__caisson_ids%s)'\n", seen, ps_flags(cmd)
        if (kind == "command" || kind == "exec")
            printf "complete -c caisson %s -a '(__fish_complete_subcommand --fcs-skip=2)'\n", seen
        if (kind == "cmd") {
            printf "complete -c caisson %s -a '", seen
            for (i = 1; i <= n_cmds; i++) printf "%s%s", (i > 1 ? " " : ""), cmds[i]
            print "'"
        }
    }
}
