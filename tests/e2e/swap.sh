#!/bin/sh
# What was looked at is what is mounted: a source that somebody swaps for a link while the engine starts changes nothing.
# needs: root busybox
# tags: peers
# timeout: 120
. "${0%/*}/lib.sh"

# engine_that_swaps: $T/$e-swap is that engine, and slow enough for somebody to be quick
engine_that_swaps() {
    cat >"$T/$e-swap" <<END
#!/bin/sh
for word; do if [ "\$word" = create ]; then mv "$T/src" "$T/old" && ln -s "$other" "$T/src"; fi; done
exec "$(engine_path "$e")" "\$@"
END
    chmod +x "$T/$e-swap"
}

mkdir "$T/secret"
echo secret >"$T/secret/f"
for e in $(engines); do
    for kind in directory file; do
        rm -rf "$T/src" "$T/old"
        if [ $kind = directory ]; then
            mkdir "$T/src" && echo right >"$T/src/f"
            other=$T/secret inside=/in/f
        else
            echo right >"$T/src"
            other=$T/secret/f inside=/in
        fi
        engine_that_swaps
        run "$CAISSON" run --runtime "$T/$e-swap" -v "$T/src:/in" -- cat $inside
        is "$rc $out" "0 right" "$e: a $kind that was swapped for a link"
        check "$e: it was swapped" test -L "$T/src"
    done
    rm -rf "$T/src" "$T/old"
    for root in "$T/src" "$T/evil"; do
        mkdir -p "$root/bin" && cp "$(command -v busybox)" "$root/bin/busybox"
        echo "${root##*/}" >"$root/f"
    done
    other=$T/evil
    engine_that_swaps
    run "$CAISSON" run --runtime "$T/$e-swap" --rootfs "$T/src" -- busybox cat /f
    is "$rc $out" "0 src" "$e: a root that was swapped for a link"
    check "$e: it was swapped" test -L "$T/src"
done
done_testing
