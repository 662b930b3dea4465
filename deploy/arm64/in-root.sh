#!/bin/sh
# Runs a command in the emulated root, as a machine with the given processor.
#   deploy/arm64/in-root.sh FOLDER PROCESSOR COMMAND…
# PROCESSOR is a file of this folder: /proc/cpuinfo, from which LLVM takes the processor's features.
set -eu
folder=$1 processor=$(dirname "$(realpath "$0")")/$2.cpuinfo
shift 2
export folder processor
exec unshare --mount sh -euc '
    mount --bind /dev "$folder/root/dev"
    mount -t proc proc "$folder/root/proc"
    mount --bind "$processor" "$folder/root/proc/cpuinfo"
    exec env -i PATH=/usr/sbin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 PYTHONPATH=/opt/site:/opt/attend \
        QEMU_CPU=max chroot "$folder/root" "$@"' sh "$@"
