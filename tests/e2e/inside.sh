#!/bin/sh
# What a program sees and may do: no power, no file and no descriptor of the host's.
# needs: root python3
# tags: peers
# timeout: 180
. "${0%/*}/lib.sh"

status_of() { sed -n "s/^$1:[^0-9a-f]*//p" "$T/out"; }

powers() {
    for user in 65534 0; do
        job "$e" -u $user -- cat /proc/self/status
        is "$(sed -n 's/^Cap[A-Z][a-z]*:[^0-9a-f]*//p' "$T/out" | sort -u)" 0000000000000000 "$e: user $user: no capability in any set"
        if [ "$e" = runsc ]; then continue; fi
        is "$(status_of NoNewPrivs) $(status_of Seccomp)" "1 2" "$e: user $user: no new privileges, and a filter"
    done
}

files() {
    job "$e" -u 0 -- sh -c 'for f in /x /usr/x /etc/x /etc/hosts /bin/x /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/x /sys/fs/cgroup/x; do
        if (echo x >>"$f") 2>/dev/null; then echo "$f"; fi; done'
    is "$rc|$out" "0|" "$e: root inside writes no file of the root's"
    job "$e" -u 0 -- sh -c 'cat /proc/kcore /proc/keys /proc/timer_list /proc/sched_debug 2>/dev/null | head -c 1 | wc -c; find /proc/acpi /proc/scsi /sys/firmware -mindepth 1 2>/dev/null | wc -l'
    is "$(echo "$out" | head -n 1)" 0 "$e: /proc/kcore and the like are masked"
    is "$(echo "$out" | tail -n 1)" 0 "$e: … directories too"
    job "$e" -- find / -mindepth 1 -maxdepth 1 -printf '%f\n'
    is "$(printf '%s\n' "$out" | grep -vxE 'bin|sbin|lib|lib32|lib64|libx32|usr|etc|proc|sys|dev|tmp|run|root')" "" "$e: nothing in / beyond the list"
    job "$e" -- find /home /root /var /run /srv /opt /mnt /media /boot -mindepth 1
    is "$out" "" "$e: nothing of /home, /root, /var, /run and the like"
    job "$e" -- find /etc -mindepth 1 -maxdepth 1 -printf '%f\n'
    is "$(printf '%s\n' "$out" | grep -vxE 'passwd|group|hosts|nsswitch.conf|hostname|resolv.conf|ld.so.cache|alternatives|ssl|ca-certificates.conf|localtime|java-[0-9]*-openjdk|python[0-9.]*|perl|mime.types|services|protocols|locale.alias|mtab')" \
        "" "$e: nothing in /etc beyond the list"
    job "$e" -- find /etc/ssl -mindepth 1 -maxdepth 1 -printf '%f\n'
    is "$(printf '%s\n' "$out" | grep -vxE 'certs|openssl.cnf')" "" "$e: no private key of /etc/ssl"
    job "$e" -- sh -c 'cat /etc/passwd /etc/group; cat /etc/resolv.conf'
    is "$(echo "$out" | cut -d : -f 1 | sort -u | tr '\n' ' ')" "$(echo "$out" | cut -d : -f 1 | sort -u | grep -xE 'root|user|nobody|nogroup|tty' | tr '\n' ' ')" "$e: passwd and group are made for the run"
    job "$e" -- sh -c 'cd /dev && find . -mindepth 1 -maxdepth 1 ! -type l -printf "%f\n"'
    is "$(printf '%s\n' "$out" | grep -vxE 'null|zero|full|random|urandom|tty|console|pts|shm|mqueue|ptmx|net|fuse|char')" "" "$e: no device of the host's"
}

# F056: what caisson inherits does not go on
descriptors() {
    exec 9</ 8</etc/shadow 5<>"$T/spare"
    for flag in -q -i; do
        job "$e" $flag -- python3 -ISc 'import os; print(*[n for n in range(64) if os.path.lexists(f"/proc/self/fd/{n}")])'
        is "$out" "0 1 2" "$e: F056 only 0, 1 and 2 ($flag)"
    done
    job "$e" -- sh -c 'cat <&9 || cat <&8 || cat <&5 || echo none'
    is "$out" none "$e: F056 … and none can be used"
    for dir in /proc/self/fd/7 /proc/self/fd/9/ //proc/self/fd/9 /proc//self/./fd/9 /usr/../proc/self/fd/9 /proc/self/../self/fd/9 \
        /proc/1/fd/9 /proc/thread-self/fd/9 /proc/self/task/1/fd/9 /dev/fd/9 /proc/self/cwd /proc/self/root /proc/1/root/home; do
        job "$e" -w "$dir" -- sh -c 'pwd -P; ls -A'
        is "$rc $(field reason) $(field error.kind)|$out" "125 start-failed usage|" "$e: F056 -w $dir"
    done
    for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        job "$e" -w /proc/self/fd/$n -- sh -c 'pwd -P; ls -A'
        is "$rc $(field error.kind)|$out" "125 usage|" "$e: F056 -w /proc/self/fd/$n"
    done
    mkdir -p "$T/root"
    for d in usr proc dev etc sys tmp; do mkdir -p "$T/root/$d"; done
    ln -sfn usr/bin "$T/root/bin" && ln -sfn usr/lib "$T/root/lib" && ln -sfn usr/lib64 "$T/root/lib64"
    for n in 3 4 5 6 7 8 9 10 11 12; do
        ln -sfn "/proc/self/fd/$n" "$T/root/door"
        job "$e" --rootfs "$T/root" -v /usr:/usr -w /door -- sh -c 'pwd -P; ls -A'
        case $rc:$out in 0:*) printf '%s\n' "door $n: $out" >>"$T/doors" ;; esac
    done
    is "$(cat "$T/doors" 2>/dev/null)" "" "$e: F056 … through a link of the root's"
    exec 9<&- 8<&- 5<&-
}

# F044, F058
devices() {
    job "$e" -u 1000 -- sh -c 'echo out >/dev/stdout; echo err >/dev/stderr'
    is "$rc|$out|$err" "0|out|err" "$e: F044 /dev/stdout and /dev/stderr can be opened again"
    job "$e" -u 0 --cap-add setuid --cap-add setgid -- setpriv --reuid 1000 --regid 1000 --clear-groups sh -c 'echo out >/dev/stdout; echo err >/dev/stderr'
    is "$rc|$out|$err" "0|out|err" "$e: F044 … by a program that drops its user itself"
    mkdir -p "$T/evil"
    for d in usr proc dev etc sys tmp; do mkdir -p "$T/evil/$d"; done
    ln -sfn usr/bin "$T/evil/bin" && ln -sfn usr/lib "$T/evil/lib" && ln -sfn usr/lib64 "$T/evil/lib64"
    ln -sfn /proc/sys/kernel/core_pattern "$T/evil/dev/null"
    ln -sfn /proc/sys/kernel/core_pattern "$T/evil/dev/console"
    pattern=$(cat /proc/sys/kernel/core_pattern)
    job "$e" --rootfs "$T/evil" -v /usr:/usr -u 0 -- \
        sh -c 'head -c1 /proc/kcore; cat /proc/keys; echo x >/proc/sys/kernel/core_pattern; test -c /dev/null && echo fresh'
    is "$out" fresh "$e: F058 links in the root's /dev are not followed"
    is "$(cat /proc/sys/kernel/core_pattern)" "$pattern" "$e: F058 … and the host is as it was"
}

network() {
    job "$e" -- sh -c "sed -n 's/^ *\\([^ ]*\\):.*/\\1/p' /proc/net/dev"
    is "$out" lo "$e: only lo"
    job "$e" -- python3 -ISc '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
c.send(b"up")
print(s.accept()[0].recv(9))
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as e:
    print(e.strerror)'
    like "$out" "b'up'
N*o*" "$e: it is up, and there is nothing else"
}

# has COMMAND…: installed where the embedded root can see it
has() { case $(readlink -f "$(command -v "$1" 2>/dev/null)" 2>/dev/null) in /usr/*) return 0 ;; *) return 1 ;; esac; }

# works NAME WANT COMMAND...
works() {
    name=$1 want=$2
    shift 2
    if ! has "$name"; then
        skip "$e: $name works" "$name is not installed below /usr"
        return
    fi
    job "$e" --memory 512m --pids-limit 256 -w /tmp "$@"
    like "$rc|$out" "0|$want" "$e: $name works"
}

programs() {
    works python3 "4 ok" -- python3 -c 'import ssl, json, subprocess, threading, multiprocessing; print(2 + 2, subprocess.check_output(["echo", "ok"]).decode().strip())'
    printf '#include <stdio.h>\n#include <math.h>\nint main(int c, char **v) { (void)v; return printf("%%.0f\\n", sqrt(15.0 + c)) < 0; }\n' >"$T/a.c"
    works gcc 4 -v "$T/a.c:/src/a.c" -- sh -c 'gcc -O2 -o a /src/a.c -lm && ./a'
    printf '#include <iostream>\n#include <vector>\nint main() { std::vector<int> v{1, 3}; std::cout << v[0] + v[1] << std::endl; }\n' >"$T/a.cc"
    works g++ 4 -v "$T/a.cc:/src/a.cc" -- sh -c 'g++ -o a /src/a.cc && ./a'
    works perl 4 -- perl -MPOSIX -e 'print floor(4.5), "\n"'
    works git "1" -- sh -c 'git init -q r && cd r && echo x >f && git add f && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l'
    printf 'public class A { public static void main(String[] a) { System.out.println(2 + 2); } }\n' >"$T/A.java"
    works java 4 -v "$T/A.java:/src/A.java" -- java -Xshare:auto /src/A.java
    # F035: limits that break honest programs
    works node "ECONNREFUSED" -- node -e 'fetch("http://127.0.0.1:48999").catch(e => console.log(e.cause.code))'
    works getent "root:x:0:0:*nobody:x:65534:*" -- getent passwd
    works getent "*localhost*" -- getent hosts localhost
    job "$e" -- sh -c 'ulimit -n; ulimit -v; ulimit -s; ulimit -c; umask; locale 2>/dev/null | grep LANG='
    is "$(echo $out | cut -d ' ' -f 1-5)" "1024 unlimited 8192 $(echo $out | cut -d ' ' -f 4) 0022" "$e: F035 limits of a process"
}

for e in $(engines); do
    job "$e" -- true
    snapshot before
    powers
    files
    descriptors
    devices
    network
    programs
    compare before "$e: nothing left"
done
done_testing
