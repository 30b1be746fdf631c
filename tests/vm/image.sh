#!/bin/sh
# Builds the initramfs of the test machine.
#
#   image.sh base CACHEDIR OUT.cpio      the slow part: C library, shell, tools, python3, engines, modules
#   image.sh payload DESTDIR OUT.cpio    the quick part: whatever DESTDIR holds (caisson, the tests)
#   image.sh libs ROOT FILE              adds the libraries that FILE needs to ROOT
#   image.sh stamp CACHEDIR              prints what the base depends on; equal stamps, equal bases
#
# The kernel unpacks one cpio archive after the other, so run.sh hands it base and payload back to back. Nothing is
# compressed: decompression costs more under emulation than the copy does.
#
# The tree looks like a merged-/usr Debian (bin, sbin and lib are links into usr), because caisson's embedded host root
# is made from it. The host's own coreutils, procps and util-linux come along: the tests then mean the same commands
# inside as outside. busybox fills what is left.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

# Commands the tests use; one that the host lacks is left to busybox.
tools="sh dash bash env cat head tail tr sort uniq wc cut tee seq yes dd cp mv ln rm mkdir rmdir mkfifo mknod mktemp touch
chmod chown stat readlink realpath dirname basename date sleep timeout true false test [ printf echo id whoami nproc kill
ls df du sync truncate od base64 sha256sum md5sum expr paste tac nohup stdbuf env stty tty shuf install comm join fold split nl
uname catatonit tini-static grep sed awk mawk gawk find xargs cmp diff ps pgrep pidof free setsid unshare nsenter mount umount findmnt flock
prlimit setpriv taskset losetup mkfs.ext4 mke2fs fsfreeze getent strace jq ip ldconfig script getopt hostname column"
engines="runc crun runsc"

# Modules to load, in order; those built into the kernel are not found and need no loading.
modules="kernel/fs/overlayfs/overlay kernel/drivers/block/loop kernel/drivers/net/veth"

die() { echo "image.sh: $*" >&2; exit 1; }

# /lib/x -> /usr/lib/x, so that one file has one place in the tree
merged() {
    case $1 in
    /bin/* | /sbin/* | /lib/* | /lib64/* | /lib32/*) echo "/usr$1" ;;
    *) echo "$1" ;;
    esac
}

# add_file ROOT FILE: the file under the same name, symlinks followed and kept
add_file() {
    af_dst=$1$(merged "$2")
    [ ! -e "$af_dst" ] || return 0
    mkdir -p "${af_dst%/*}"
    af_real=$(merged "$(readlink -f "$2")")
    if [ "$af_real" = "$(merged "$2")" ]; then
        cp "$2" "$af_dst"
    else
        ln -sf "$af_real" "$af_dst"
        add_file "$1" "$af_real"
    fi
}

# add_libs ROOT FILE: what the dynamic linker would load for it
add_libs() {
    { ldd "$2" 2>/dev/null || :; } | sed -n 's|^[^/]*\(/[^ ]*\) (0x.*|\1|p' | sort -u | while read -r lib; do
        add_file "$1" "$lib"
    done
}

add_prog() {
    ap=$(command -v "$2" 2>/dev/null) || ap=
    case $ap in /*) ;; *) ap=/usr/bin/$2; [ -x "$ap" ] || return 0 ;; esac
    add_file "$1" "$ap"
    add_libs "$1" "$ap"
}

add_python() {
    if [ ! -x /usr/bin/python3 ]; then die "/usr/bin/python3 is missing"; fi
    py=$(readlink -f /usr/bin/python3)
    ver=${py##*/}
    add_file "$1" /usr/bin/python3
    add_libs "$1" "$py"
    mkdir -p "$1/usr/lib"
    # the parts of the standard library that are big and that no test imports
    (cd /usr/lib && find "$ver" \( -name test -o -name tests -o -name idlelib -o -name lib2to3 -o -name ensurepip \
        -o -name tkinter -o -name pydoc_data -o -name distutils -o -name 'config-*' -o -name dist-packages \
        -o -name turtledemo -o -name xmlrpc -o -name wsgiref -o -name sqlite3 \) -prune -o \
        \( -type f -o -type l \) -print | cpio -o -H newc --quiet) | (cd "$1/usr/lib" && cpio -idm --quiet)
    for so in /usr/lib/"$ver"/lib-dynload/*.so; do add_libs "$1" "$so"; done
}

add_etc() {
    mkdir -p "$1/etc"
    printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin' \
        'user:x:1000:1000:user:/home/user:/bin/sh' 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin' >"$1/etc/passwd"
    printf '%s\n' 'root:x:0:' 'daemon:x:1:' 'tty:x:5:' 'user:x:1000:' 'nogroup:x:65534:' >"$1/etc/group"
    printf '%s\n' '127.0.0.1 localhost' '::1 localhost' >"$1/etc/hosts"
    printf '%s\n' 'passwd: files' 'group: files' 'hosts: files' >"$1/etc/nsswitch.conf"
    echo vm >"$1/etc/hostname"
    : >"$1/etc/resolv.conf"
    printf '%s\n' /usr/local/lib /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu >"$1/etc/ld.so.conf"
    cp /etc/services /etc/protocols "$1/etc/" 2>/dev/null || :
}

# The compiled-in NSS and the 64-bit loader's fixed name are reached by no ldd.
add_nss() {
    for lib in /lib/x86_64-linux-gnu/libnss_files.so.2 /lib/x86_64-linux-gnu/libgcc_s.so.1; do
        if [ -e "$lib" ]; then add_file "$1" "$lib"; fi
    done
}

build_base() {
    cache=$1 out=$2
    root=$(mktemp -d "${TMPDIR:-/tmp}/caisson-vm.XXXXXX")
    trap 'rm -rf "$root"' EXIT
    trap 'exit 1' HUP INT TERM
    for d in usr/bin usr/sbin usr/lib usr/lib64 usr/local/bin etc dev proc sys run tmp root home/user mnt var/tmp new; do
        mkdir -p "$root/$d"
    done
    for l in bin sbin lib lib64; do ln -s "usr/$l" "$root/$l"; done
    ln -s /run "$root/var/run"
    chmod 1777 "$root/tmp" "$root/var/tmp"

    busybox=$(command -v busybox) || die "busybox is missing (apt: busybox-static)"
    if ldd "$busybox" >/dev/null 2>&1; then die "busybox is not static (apt: busybox-static)"; fi
    cp "$busybox" "$root/usr/bin/busybox"

    for t in $tools $engines; do add_prog "$root" "$t"; done
    add_python "$root"
    add_nss "$root"
    add_etc "$root"
    for t in $("$busybox" --list); do
        [ -e "$root/usr/bin/$t" ] || [ -L "$root/usr/bin/$t" ] || [ -e "$root/usr/sbin/$t" ] || ln -s busybox "$root/usr/bin/$t"
    done

    mkdir -p "$root/lib/modules"
    for m in $modules; do
        f=$(find "$cache/kernel/lib/modules" -path "*/$m.ko" | head -n 1)
        if [ -n "$f" ]; then cp "$f" "$root/lib/modules/"; fi
    done
    echo "$modules" | tr ' ' '\n' | sed 's|.*/||' >"$root/lib/modules/order"

    ldconfig -r "$root" 2>/dev/null
    cp "$here/init" "$root/init"
    cp "$here/guest.sh" "$root/usr/sbin/vm-guest"
    chmod 755 "$root/init" "$root/usr/sbin/vm-guest"
    (cd "$root" && find . -mindepth 1 | cpio -o -H newc -R 0:0 --quiet) >"$out.new"
    mv "$out.new" "$out"
}

# Names, sizes and times of everything the base copies: enough to notice an upgrade of the host.
stamp() {
    cat "$here/image.sh" "$here/init" "$here/guest.sh"
    for t in $tools $engines python3 busybox; do
        if p=$(command -v "$t" 2>/dev/null) && [ -f "$p" ]; then stat -L -c '%n %s %Y' "$p"; fi
    done
    stat -L -c '%n %s %Y' /lib/x86_64-linux-gnu/libc.so.6
    cat "$1/kernel/version" 2>/dev/null || :
}

case ${1-} in
base) build_base "$2" "$3" ;;
payload)
    (cd "$2" && find . -mindepth 1 | cpio -o -H newc -R 0:0 --quiet) >"$3"
    ;;
libs) add_libs "$2" "$3" ;;
stamp) stamp "$2" | sha256sum | cut -d ' ' -f 1 ;;
*) die "usage: image.sh base CACHEDIR OUT | payload DESTDIR OUT | libs ROOT FILE | stamp CACHEDIR" ;;
esac
