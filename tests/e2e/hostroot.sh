#!/bin/sh
# What a run sees with --rootfs host, and the commands and volumes that are refused beforehand.
# needs: root python3
# tags: peers
# timeout: 240
. "${0%/*}/lib.sh"

# here NAME DESC: skips a test of a program that the host has not under /usr
here() {
    case $(command -v "$1" 2>/dev/null) in
    /usr/* | /bin/* | /sbin/*) return 0 ;;
    esac
    if [ -x "/usr/bin/$1" ]; then return 0; fi
    skip "$2" "no $1 under /usr"
    return 1
}

# job ENGINE ARGS...: a run with room enough for compilers
job() {
    _engine=$1
    shift
    run "$CAISSON" run --runtime "$(engine_path "$_engine")" --timeout "$(scaled 60)s" --memory 512m --pids-limit 512 "$@"
}

mkdir "$T/src" "$T/vol"
cat >"$T/src/a.c" <<'C'
#include <stdio.h>
int main(void) { puts("from c"); return 0; }
C
cat >"$T/src/b.cc" <<'C'
#include <iostream>
int main() { std::cout << "from c++" << std::endl; }
C
cat >"$T/src/H.java" <<'J'
public class H { public static void main(String[] a) { System.out.println("from java"); } }
J
chmod -R a+rX "$T/src"
printf '#!/usr/bin/python4\n' >"$T/src/py4"
printf '#!/bin/sh\r\n' >"$T/src/dos"
printf 'plain text\n' >"$T/src/text"
printf '#!/bin/sh\nexit 9\n' >"$T/src/nox"
mkfifo "$T/src/fifo"
chmod 755 "$T/src/py4" "$T/src/dos" "$T/src/text" "$T/src/fifo"

for e in $(engines); do
    # --- interpreters and compilers -------------------------------------------------------------------------------
    job "$e" -- python3 -c 'import json, socket, ssl; print(socket.getaddrinfo("localhost", 80)[0][4][0])'
    like "$rc $out" "0 *1" "$e: python3, its modules and localhost"
    if here gcc "$e: gcc"; then
        job "$e" -v "$T/src:/src" -- sh -c 'cd /tmp && gcc /src/a.c -o a && ./a'
        is "$rc $out" "0 from c" "$e: gcc"
    fi
    if here g++ "$e: g++"; then
        job "$e" -v "$T/src:/src" -- sh -c 'cd /tmp && g++ /src/b.cc -o b && ./b'
        is "$rc $out" "0 from c++" "$e: g++"
    fi
    if here java "$e: java"; then
        job "$e" -v "$T/src:/src" -- java -Xmx128m /src/H.java
        is "$rc $out" "0 from java" "$e: java"
    fi
    if here node "$e: node"; then
        job "$e" -- node -e 'console.log("from node")'
        is "$rc $out" "0 from node" "$e: node"
    fi
    if here perl "$e: perl"; then
        job "$e" -- perl -MPOSIX -e 'print "from perl"'
        is "$rc $out" "0 from perl" "$e: perl"
    fi
    if here git "$e: git"; then
        job "$e" -- sh -c 'cd /tmp && git init -q r && cd r &&
            git -c user.name=a -c user.email=b commit -q --allow-empty -m from-git && git log --format=%s'
        is "$rc $out" "0 from-git" "$e: git"
    fi

    # --- names ----------------------------------------------------------------------------------------------------
    job "$e" -- getent passwd
    is "$rc $(printf '%s\n' "$out" | cut -d: -f1,3 | tr '\n' ' ')" "0 root:0 nobody:65534 " "$e: getent passwd"
    job "$e" --user 1234:1235 -- id
    like "$rc $out" "0 uid=1234(user) gid=1235(user)*" "$e: the run's user has a name"
    job "$e" -- getent hosts localhost
    like "$rc $out" "0 ::1*localhost*" "$e: localhost"

    # --- nothing else of the host -----------------------------------------------------------------------------------
    job "$e" -- python3 -c '
import os
known = {"passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf", "ld.so.cache", "alternatives", "ssl",
         "ca-certificates.conf", "localtime", "perl", "mime.types", "services", "protocols", "locale.alias", "mtab"}
odd = [n for n in os.listdir("/etc") if n not in known and not n.startswith(("java-", "python3"))]
top = {"usr", "etc", "proc", "sys", "dev", "tmp", "run", "root", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}
odd += [n for n in os.listdir("/") if n not in top]
odd += ["ssl/" + n for n in (os.listdir("/etc/ssl") if os.path.isdir("/etc/ssl") else []) if n not in ("certs", "openssl.cnf")]
odd += ["/run/" + n for n in os.listdir("/run")] + ["/root/" + n for n in os.listdir("/root")]
print(odd)'
    is "$rc $out" "0 []" "$e: no file of the host beyond the list"
    job "$e" -- python3 -c '
import errno, os
for d in ("/usr", "/usr/bin", "/etc", "/etc/alternatives", "/etc/services", "/"):
    if not os.path.exists(d): continue
    try:
        if os.path.isdir(d): os.mkdir(d + "/new")
        else: os.open(d, os.O_WRONLY)
        print(d)
    except OSError as x:
        if x.errno not in (errno.EROFS, errno.EACCES): print(d, x)'
    is "$rc $out" "0 " "$e: nothing of it is writable"

    # --- F019: 126 and 127 mean the same on each engine ---------------------------------------------------------------
    job "$e" -- /no/such/cmd
    is "$rc" 127 "F019 $e: a missing command"
    job "$e" -- no-such-command
    is "$rc" 127 "F019 $e: a name that is not in PATH"
    like "$err" "*'no-such-command' is not in PATH*" "F019 $e: and the message names it"
    job "$e" -- /etc
    is "$rc" 126 "F019 $e: a directory"
    job "$e" -v "$T/src:/src" -- /src/nox
    is "$rc" 126 "F019 $e: no x bit"
    job "$e" -v "$T/src:/src" -- /src/text
    is "$rc" 126 "F019 $e: neither a program nor a script"
    job "$e" -v "$T/src:/src" -- /src/fifo
    is "$rc" 126 "F019 $e: a FIFO, which hangs nobody"
    job "$e" -v "$T/src:/src" -- /src/py4
    is "$rc" 127 "F019 $e: a script without its interpreter"
    like "$err" "*'/usr/bin/python4'*" "F019 $e: and the message names the interpreter"
    job "$e" -v "$T/src:/src" -- /src/dos
    is "$rc" 127 "F019 $e: a script with CR LF"
    like "$err" "*CR LF*" "F019 $e: and the message says so"

    # --- volumes --------------------------------------------------------------------------------------------------------
    job "$e" -v "$T/vol:/h" -v "$T/src:/h/made" -- true
    is "$rc" 125 "$e: no mount point is made in another volume"
    is "$(ls "$T/vol")" "" "$e: and nothing on the host"
    job "$e" --tmpfs /scratch:size=1m,mode=0777 -- sh -c 'head -c 2000000 /dev/zero >/scratch/f; wc -c </scratch/f'
    is "$out" 1048576 "$e: --tmpfs has its size, and the run's user may write there"
    job "$e" -v "$T/src:/src:noexec" -- sh -c 'cat /src/text; /src/dos; echo $?'
    like "$out" "plain text*126" "$e: noexec"
done

run "$CAISSON" run -v "$T/vol:/w:rw" -- true
is "$rc" 125 "a writable volume is refused"
like "$err" "*--unbounded-volume*" "and the message says what lifts it"
run "$CAISSON" run -v /run:/r -- true
is "$rc" 125 "/run is refused"
run "$CAISSON" run --unbounded-volume -v "$T/vol:/w:rw" --user 0 -- sh -c 'echo out >/w/f'
is "$rc $(cat "$T/vol/f" 2>/dev/null)" "0 out" "--unbounded-volume writes through"

done_testing
