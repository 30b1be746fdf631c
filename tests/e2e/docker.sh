#!/bin/sh
# needs: root docker dockerd containerd runc busybox python3
# timeout: 900
# caisson-runtime under dockerd: each case runs with the engine itself and with caisson over it, and what a user of
# docker sees must be the same: output, codes, state.
. "${0%/*}/lib.sh"
. "${0%/*}/dockerd.inc"

[ -x "$CAISSON_RUNTIME" ] || skip_all "no caisson-runtime in $CAISSON_BUILD"
runc=$(engine_path runc)
runsc=$(engine_path runsc)

# runtime NAME ENGINE [ARGS...]: a member of "runtimes"
runtime() {
    _name=$1 _engine=$2
    shift 2
    printf ', "%s": {"path": "%s", "runtimeArgs": ["--runtime", "%s", "--state-dir", "%s"' "$_name" "$CAISSON_RUNTIME" "$_engine" "$T/state"
    for _arg; do printf ', "%s"' "$_arg"; done
    printf ']}'
}

pairs="runc:caisson-none runc:caisson runc:caisson-strict"
members=$(runtime caisson-none "$runc" --policy none && runtime caisson "$runc" && runtime caisson-strict "$runc" --policy strict)
if [ -n "$runsc" ]; then
    pairs="$pairs runsc:caisson-gvisor"
    members="$members, \"runsc\": {\"path\": \"$runsc\", \"runtimeArgs\": [\"--network=none\"]}$(runtime caisson-gvisor "$runsc" --network=none)"
fi
runtimes=$(for p in $pairs; do echo "${p%:*}" && echo "${p#*:}"; done | awk '!seen[$0]++')
dockerd_start "${members#, }"
dockerd_image
diag "$(docker version -f 'docker {{.Client.Version}}, dockerd {{.Server.Version}}'), $("$runc" --version | head -n 1)"

# --- cases ----------------------------------------------------------------------------------------------------------
#
# A program with a terminal that ends at once may lose its last words: containerd's shim stops reading when it sees
# the end. The attendant lets it see that behind the last byte, but not where the process is gVisor's sandbox: there
# these wait a moment ($P).
#
# A line "## NAME [!RUNTIME]...", then the commands: $R is the runtime, $C a name for a container, $W a directory of
# the case's own. What they print, and "rc N" behind it, is compared. `!RUNTIME`: differs there by intent; the
# reason stands beside it.
#
# Cases "build: …" have $R as the daemon's default, and so come after the others, a runtime at a time. They are the
# classic builder's: BuildKit asks for no runtime, it calls a runc.

cat >"$T/cases" <<'CASES'
## run: output and code
docker run --rm --runtime $R img sh -c 'echo out; echo err >&2; exit 7'
## run: stdin
printf 'a\nb' | docker run --rm -i --runtime $R img cat
## run: large output
docker run --rm --runtime $R img sh -c 'seq 1 100000' | md5sum
## run: both streams
docker run --rm --runtime $R img sh -c 'for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done' 2>$W/err | cat; cat $W/err
## run: signal
docker run --rm --runtime $R img sh -c 'kill -9 $$'
## run: terminal
docker run --rm -t --runtime $R img sh -c 'echo tty; stty -a | head -n 1 | cut -d";" -f1; sleep 0.5'
## run: interactive terminal
printf 'echo $((6*7))\nsleep 0.5\nexit 3\n' | script -qec "docker run --rm -it --runtime $R img sh" /dev/null | tr -d '\r' | grep -c '^42'
## run: no such command
docker run --rm --runtime $R img /no/such/command 2>&1 | grep -o 'no such file or directory' | sort -u; echo
## run: no such command, code
docker run --rm --runtime $R img /no/such/command >/dev/null 2>&1
## run: not executable
docker run --rm --runtime $R img /etc/passwd >/dev/null 2>&1
## run: user
docker run --rm -u 1000 --runtime $R img sh -c 'id -u; id -g'
## run: environment and directory
docker run --rm -e A=b -w /tmp --runtime $R img sh -c 'echo $A; pwd'
## run: hostname
docker run --rm -h somewhere --runtime $R img hostname
## run: read-only
docker run --rm --read-only --runtime $R img touch /x
## run: a writable root !caisson-strict
docker run --rm --runtime $R img sh -c 'touch /x && ls /x'
## run: tmpfs
docker run --rm --tmpfs /t --runtime $R img sh -c 'echo y >/t/f; cat /t/f'
## run: volume
echo here >$W/f; docker run --rm -v $W:/v --runtime $R img sh -c 'cat /v/f; echo there >/v/g'; cat $W/g
## run: read-only volume
echo here >$W/f; docker run --rm -v $W:/v:ro --runtime $R img sh -c 'cat /v/f; touch /v/g'
## run: named volume
docker run --rm -v vol-$C:/v --runtime $R img sh -c 'echo x >/v/f'; docker run --rm -v vol-$C:/v --runtime $R img cat /v/f; docker volume rm vol-$C | sed s/$C/C/
## run: memory limit
docker run --rm -m 128m --runtime $R img sh -c 'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null'; echo
## run: out of memory
docker run --name $C -m 96m --runtime $R img sh -c 'exec tail /dev/zero' >/dev/null 2>&1; docker inspect -f '{{.State.ExitCode}}' $C; docker rm $C >/dev/null
## run: pids limit
docker run --rm --pids-limit 20 --runtime $R img sh -c 'echo fine' 2>/dev/null
## run: init
docker run --rm --init --runtime $R img sh -c 'echo with init'
## run: capabilities !caisson-strict
docker run --rm --runtime $R img sh -c 'grep CapEff /proc/self/status'
## run: no capabilities
docker run --rm --cap-drop ALL --runtime $R img sh -c 'grep CapEff /proc/self/status'
## run: no new privileges
docker run --rm --security-opt no-new-privileges --runtime $R img sh -c 'grep NoNewPrivs /proc/self/status'
## run: ulimit
docker run --rm --ulimit nofile=100:100 --runtime $R img sh -c 'ulimit -n'
## run: labels and annotations stay out of sight
docker run --rm -l io.caisson.nonsense=1 --runtime $R img echo fine
## run: detached, wait, logs
docker run -d --name $C --runtime $R img sh -c 'echo one; echo two >&2; exit 5' >/dev/null; docker wait $C; docker logs $C 2>&1 | sort; docker rm $C >/dev/null
## run: detached with a terminal
docker run -dt --name $C --runtime $R img sh -c 'echo one; '"$P"'; exit 5' >/dev/null; docker wait $C; docker logs $C | tr -d '\r'; docker rm $C >/dev/null
## logs: following
docker run -d --name $C --runtime $R img sh -c 'for i in 1 2 3; do echo $i; sleep 0.1; done' >/dev/null; docker logs -f $C; docker rm -f $C >/dev/null
## attach
docker run -dit --name $C --runtime $R img sh -c 'read x; echo got $x; '"$P"'; exit 4' >/dev/null; (sleep 0.5; echo word) | script -qec "docker attach $C" /dev/null | tr -d '\r' | grep -o 'got word' | head -n 1; docker wait $C; docker rm $C >/dev/null
## exec: output and code
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker exec $C sh -c 'echo out; echo err >&2; exit 9'; echo "exec $?"; docker rm -f $C >/dev/null
## exec: stdin
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; echo in | docker exec -i $C cat; docker rm -f $C >/dev/null
## exec: terminal
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker exec -t $C sh -c 'echo tty' | tr -d '\r'; docker rm -f $C >/dev/null
## exec: interactive terminal
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; printf 'echo $((6*7))\nsleep 0.5\nexit\n' | script -qec "docker exec -it $C sh" /dev/null | tr -d '\r' | grep -c '^42'; docker rm -f $C >/dev/null
## exec: detached
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker exec -d $C sh -c 'echo yes >/dev/shm/f'; for i in $(seq 50); do docker exec $C cat /dev/shm/f 2>/dev/null && break; sleep 0.1; done; docker rm -f $C >/dev/null
## exec: user, directory, environment
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker exec -u 1000 -w /tmp -e A=b $C sh -c 'id -u; pwd; echo $A'; docker rm -f $C >/dev/null
## exec: no such command
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker exec $C /no/such >/dev/null 2>&1; echo "exec $?"; docker rm -f $C >/dev/null
## exec: twenty
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; for i in $(seq 20); do docker exec $C echo $i; done; docker rm -f $C >/dev/null
## stop: a program that ends on TERM
docker run -d --name $C --runtime $R img sh -c 'trap "exit 6" TERM; while :; do sleep 0.1; done' >/dev/null; sleep 0.3; docker stop $C >/dev/null; docker inspect -f '{{.State.ExitCode}} {{.State.Status}}' $C; docker rm $C >/dev/null
## stop: a program that does not
docker run -d --name $C --runtime $R img sh -c 'trap "" TERM; while :; do sleep 0.1; done' >/dev/null; sleep 0.3; docker stop -t 1 $C >/dev/null; docker inspect -f '{{.State.ExitCode}} {{.State.Status}}' $C; docker rm $C >/dev/null
## kill
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker kill $C >/dev/null; docker wait $C; docker rm $C >/dev/null
## kill: another signal
docker run -d --name $C --runtime $R img sh -c 'trap "echo hup; exit 2" HUP; while :; do sleep 0.1; done' >/dev/null; sleep 0.3; docker kill -s HUP $C >/dev/null; docker wait $C; docker logs $C; docker rm $C >/dev/null
## pause and unpause
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker pause $C >/dev/null; docker inspect -f '{{.State.Status}}' $C; docker unpause $C >/dev/null; docker inspect -f '{{.State.Status}}' $C; docker rm -f $C >/dev/null
## update
docker run -d --name $C -m 128m --runtime $R img sleep 60 >/dev/null; docker update -m 64m --memory-swap 64m $C >/dev/null 2>&1; echo "update $?"; docker inspect -f '{{.HostConfig.Memory}}' $C; docker rm -f $C >/dev/null
## top
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker top $C -eo args 2>&1 | tail -n 1 | grep -c -e sleep -e runsc; docker rm -f $C >/dev/null
## stats
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker stats --no-stream --format '{{.Name}}' $C | sed s/$C/C/; docker rm -f $C >/dev/null
## cp
docker create --name $C --runtime $R img sh -c 'cat /tmp/f; echo back >/tmp/g' >/dev/null; echo to >$W/f; docker cp $W/f $C:/tmp/f 2>/dev/null; docker start -a $C 2>/dev/null; docker cp $C:/tmp/f $W/g 2>/dev/null; cat $W/g; docker rm $C >/dev/null
## create, start, start again
docker create --name $C --runtime $R img sh -c 'echo run; exit 1' >/dev/null; docker start -a $C; docker start -a $C; docker rm $C >/dev/null
## restart
docker run -d --name $C --runtime $R img sh -c 'echo run; exec sleep 60' >/dev/null; docker restart -t 0 $C >/dev/null; sleep 0.3; docker logs $C; docker inspect -f '{{.State.Status}}' $C; docker rm -f $C >/dev/null
## restart policy
docker run -d --name $C --restart on-failure:2 --runtime $R img sh -c 'echo run; exit 1' >/dev/null; for i in $(seq 100); do [ "$(docker inspect -f '{{.RestartCount}} {{.State.Status}}' $C)" = '2 exited' ] && break; sleep 0.1; done; docker inspect -f '{{.RestartCount}} {{.State.Status}}' $C; docker logs $C; docker rm -f $C >/dev/null
## health check
docker run -d --name $C --health-cmd 'test -e /proc/1' --health-interval 0.5s --runtime $R img sleep 60 >/dev/null; for i in $(seq 50); do [ "$(docker inspect -f '{{.State.Health.Status}}' $C)" = healthy ] && break; sleep 0.1; done; docker inspect -f '{{.State.Health.Status}}' $C; docker rm -f $C >/dev/null
## inspect
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker inspect -f '{{.State.Running}} {{.Path}} {{.Args}}' $C; docker rm -f $C >/dev/null
## remove by force
docker run -d --name $C --runtime $R img sh -c 'trap "" TERM; while :; do sleep 0.1; done' >/dev/null; docker rm -f $C | sed s/$C/C/; docker ps -a -q -f name=$C
## shared pid namespace
docker run -d --name $C --runtime $R img sleep 60 >/dev/null; docker run --rm --pid container:$C --runtime $R img sh -c 'ps -o args | grep -c "^sleep 60"'; docker rm -f $C >/dev/null
## run: privileged !caisson-strict
docker run --rm --privileged --runtime $R img sh -c 'echo privileged' 2>/dev/null
## id of the longest kind
docker run --rm --name $C-$(printf 'x%.0s' $(seq 100)) --runtime $R img echo long
## build: output
printf 'FROM img\nRUN echo said; grep -c . /etc/passwd\n' | docker build --force-rm --no-cache --network none -t $C - 2>/dev/null | grep -x -e said -e 2; docker rmi $C >/dev/null
## build: what is made is kept !caisson-strict
printf 'FROM img\nRUN echo made >/f && chown 1000 /f\n' | docker build --force-rm --no-cache --network none -t $C - >/dev/null 2>&1; docker run --rm --network none --runtime runc $C ls -n /f | cut -d' ' -f 1,3,4; docker rmi $C >/dev/null
## build: a command that fails
printf 'FROM img\nRUN exit 7\n' | docker build --force-rm --no-cache --network none - 2>&1 | grep -o 'non-zero code: .*'
CASES

# --- running ----------------------------------------------------------------------------------------------------------

awk -v dir="$T" '
    /^## / { n++; name = substr($0, 4); file = sprintf("%s/%s.%03d", dir, name ~ /^build: / ? "build" : "case", n)
             print name >(file ".name"); close(file ".name"); next }
    { print >file }' "$T/cases"

# run_cases RUNTIME FILE...: each into $T/out/RUNTIME/N
run_cases() {
    R=$1
    shift
    mkdir -p "$T/out/$R"
    for _case; do
        _n=${_case##*.}
        C=c-$R-$_n W=$T/w/$R/$_n P=:
        case $R in runsc | *-gvisor) P='sleep 0.5' ;; esac
        export R C W P
        mkdir -p "$W"
        # apart, since nobody promises in which order two streams arrive
        timeout 120 sh "$_case" >"$T/out/$R/$_n" 2>"$W/stderr" </dev/null
        _rc=$?
        sed 's/^/stderr: /' "$W/stderr" >>"$T/out/$R/$_n"
        echo "rc $_rc" >>"$T/out/$R/$_n"
    done
}

workers=''
for r in $runtimes; do
    run_cases "$r" "$T"/case.??? &
    workers="$workers $!"
done
for worker in $workers; do wait "$worker"; done # not for the daemon, which is a child too

# records: how many there are of containers that came to their end
records() { find "$T/state/results" -name '*.json' 2>/dev/null | wc -l; }

DOCKER_BUILDKIT=0
export DOCKER_BUILDKIT
for r in $runtimes; do
    before=$(records)
    dockerd_default "$r" || not_ok "$r can be dockerd's default"
    run_cases "$r" "$T"/build.???
    case $r in
    caisson | caisson-strict | caisson-gvisor)
        is $(($(records) - before)) "$(find "$T" -name 'build.???' | wc -l)" "$r: what a build runs was under the policy: it has a record"
        ;;
    esac
done

# --- the table --------------------------------------------------------------------------------------------------------

# cell RUNTIME N BASE: what stands in the table
cell() {
    if [ "$1" = "$3" ]; then sed -n '$s/.*rc //p' "$T/out/$1/$2"; elif cmp -s "$T/out/$1/$2" "$T/out/$3/$2"; then echo same; else echo differs; fi
}

diag "$(printf '%-50s' case; for r in $runtimes; do printf ' %-15s' "$r"; done)"
for name in "$T"/case.???.name "$T"/build.???.name; do
    n=${name%.name}
    n=${n##*.}
    diag "$(printf '%-50.50s' "$(cat "$name")"; for r in $runtimes; do
        base=$(for p in $pairs; do case $p in *:"$r") echo "${p%:*}" ;; esac; done)
        printf ' %-15s' "$(cell "$r" "$n" "${base:-$r}")"
    done)"
done

# Where no container starts at all, all look alike.
for r in $runtimes; do
    case $r in
    caisson*) ;;
    *) is "$(cat "$T/out/$r/001")" "out
stderr: err
rc 7" "$r: there is something to compare" ;;
    esac
done
for pair in $pairs; do
    base=${pair%:*} mine=${pair#*:}
    for name in "$T"/case.???.name "$T"/build.???.name; do
        n=${name%.name}
        n=${n##*.}
        title=$(cat "$name")
        case " $title " in
        *" !$mine "*) continue ;;
        esac
        if cmp -s "$T/out/$base/$n" "$T/out/$mine/$n"; then
            ok "$mine as $base: ${title%% !*}"
        else
            not_ok "$mine as $base: ${title%% !*}" "$(diff "$T/out/$base/$n" "$T/out/$mine/$n" | head -n 20)"
        fi
    done
done

# --- nothing left ---------------------------------------------------------------------------------------------------

is "$(docker ps -aq | wc -l)" 0 "no container is left in docker"
# fact FILE KEY: a member of a container's facts
fact() { sed -n "s/^[[:space:]]*\"$2\": \"\(.*\)\",*\$/\1/p" "$1"; }

# What runsc of 2022 fails to delete stays with it, and its bundle with containerd, also without us: then so does what we
# keep of it, since its caller may ask again. All else is gone.
# shellcheck disable=SC2317 # called by wait_until
none_kept() {
    "$CAISSON" gc --state-dir "$T/state" >"$T/gc" 2>&1
    if [ -n "$(find "$T/state/runs" -mindepth 1 -print -quit 2>/dev/null)" ]; then return 1; fi
    for facts in "$T"/state/containers/*/facts.json; do
        if [ ! -f "$facts" ]; then continue; fi
        if [ "$(fact "$facts" kind)" != runsc ] || [ ! -d "$(fact "$facts" bundle)" ]; then return 1; fi
        if [ -z "$(find "$(fact "$facts" root)" -name "*$(fact "$facts" id)*" -print -quit)" ]; then return 1; fi
    done
}
if wait_until 30 none_kept; then
    ok "nothing is kept of any"
else
    not_ok "nothing is kept of any" "$(cat "$T/gc" "$T"/state/containers/*/facts.json; find "$D/exec" "$T/state")"
fi

done_testing
