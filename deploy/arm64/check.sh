#!/bin/sh
# Runs attend on an emulated ARM64 machine and compares its answers with this machine's.
#
#   deploy/arm64/check.sh FOLDER SENTENCES [N]
#
# FOLDER is outside of the checkout and takes 2 GB; what it has of an earlier run is used again.
# SENTENCES is a file, of which the first column of the first N (50) lines is translated.
# As root, on Debian, with curl, debootstrap and qemu-user-static. PYTHON is a Python 3.11, the
# emulated machine's, with attend's packages. TORCH_INDEX_URL has builds of PyTorch for ARM64's CPUs.
set -eu
here=$(dirname "$(realpath "$0")")
checkout=$(realpath "$here/../..")
folder=$(realpath -m "$1") sentences=$(realpath "$2") n=${3:-50}
python=${PYTHON:-$checkout/.venv/bin/python}
torch=${TORCH_INDEX_URL:-https://download.pytorch.org/whl/cpu}
port=${PORT:-8064}
root=$folder/root
in_root() { "$here/in-root.sh" "$folder" "$@"; }
here() { (cd "$checkout" && PYTHONPATH=$checkout "$python" "$@"); }
case $folder/ in "$checkout"/*) echo "$folder lies in the checkout" >&2; exit 2 ;; esac

# The kernel starts programs for ARM64 with qemu.
registered=/proc/sys/fs/binfmt_misc
[ -e $registered/register ] || mount -t binfmt_misc binfmt_misc $registered
[ -e $registered/qemu-aarch64 ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf > $registered/register

# Packages are unpacked and not configured: Python runs without, and none of it needs emulation.
if [ ! -e "$root/usr/bin/python3" ]; then
    debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,libgomp1 bookworm "$root"
    for package in "$root"/var/cache/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --directory "$root"
    done
    # In a container it is a link to the container's own, which in the root is one to itself.
    if [ -L "$root/proc" ]; then rm "$root/proc" && mkdir "$root/proc"; fi
fi

# Wheels need no emulation either. PyTorch is for the tests alone, in a folder of its own.
install() {
    into=$1
    shift
    platforms=$(for one in manylinux2014 manylinux_2_17 manylinux_2_27 manylinux_2_28 manylinux_2_34; do
        echo "--platform ${one}_aarch64"; done)
    # shellcheck disable=SC2086
    "$python" -m pip install --quiet --target "$root/opt/$into" --only-binary=:all: $platforms \
        --python-version 3.11 --constraint "$checkout/constraints.txt" "$@"
}
if [ ! -d "$root/opt/site" ]; then
    "$python" - "$checkout/pyproject.toml" > "$folder/requirements.txt" <<'PYTHON'
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    needed = tomllib.load(file)["project"]["dependencies"]
needed = [one for one in needed if not one.startswith("torch")]
print(*needed, "hypothesis", "pytest", "pytest-timeout", sep="\n")
PYTHON
    install site --requirement "$folder/requirements.txt"
fi
[ -d "$root/opt/torch" ] || install torch --extra-index-url "$torch" torch

rm -rf "$folder/wheel" "$root/opt/attend" "$root/opt/tests"
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$folder/wheel" "$checkout"
"$python" -m pip install --quiet --no-deps --target "$root/opt/attend" "$folder"/wheel/*.whl
cp -r "$checkout/tests" "$here/answers.py" "$checkout/deploy/image/check.sh" "$root/opt"
cp "$sentences" "$root/opt/sentences"
printf '#!/usr/bin/python3\nfrom app.cli.main import main\nmain()\n' > "$root/usr/bin/attend"
chmod +x "$root/usr/bin/attend"

# The kernels that a wheel brings if `make kernels` came before it.
export XDG_CACHE_HOME="$folder/kernels"
here deploy/arm64/kernels.py armv8.2-a-dotprod int8 float32
here deploy/arm64/kernels.py armv8.2-a-i8mm int8
unset XDG_CACHE_HOME
mkdir -p "$root/opt/attend/model/engine/cpu/compiled"
cp -r "$folder/kernels/attend/kernels/." "$root/opt/attend/model/engine/cpu/compiled"
rm -rf "$root/root/.cache/attend"

# As in the slim image: nothing is compiled.
in_root cortex-a76 sh /opt/check.sh slim /opt/attend/app/checkpoints/en-fr
began=$(date +%s)
"$here/in-root.sh" "$folder" cortex-a76 attend serve --port "$port" 2> "$folder/serve.log" &
server=$!
trap 'kill $server' EXIT
until curl --silent --fail --output "$folder/answer" --data q=Hello. --data source=en --data target=fr \
    "http://127.0.0.1:$port/translate"; do
    kill -0 $server || { cat "$folder/serve.log" >&2; exit 1; }
    sleep 0.2
done
echo "first answer $(($(date +%s) - began)) s after the server's start, of which $(ps -o cputimes= -p $server) s" \
    "of processor time: $(cat "$folder/answer")"
kill $server
wait $server
trap - EXIT
if grep "compiling kernels" "$folder/serve.log"; then exit 1; fi

# Only the name of the instruction, the first line, may differ.
here deploy/arm64/answers.py "$sentences" "$n" > "$folder/here"
for processor in cortex-a76 neoverse-n2; do
    in_root $processor python3 /opt/answers.py /opt/sentences "$n" > "$folder/$processor"
    echo "instructions: $(head -n 1 "$folder/$processor") and $(head -n 1 "$folder/here")"
    for file in $processor here; do tail -n +2 "$folder/$file" > "$folder/$file.answers"; done
    cmp "$folder/$processor.answers" "$folder/here.answers"
    echo "$n of $n answers are the same to the last bit"
done

# The tests of kernels that need no PyTorch; `smmla` is that of the second processor.
cpu=tests/model/engine/cpu
pytest="python3 -m pytest -q -p no:cacheprovider --timeout 3600"
in_root cortex-a76 sh -c "cd /opt && $pytest --noconftest $cpu/kernels/test_instructions.py \
    $cpu/kernels/test_tile.py $cpu/kernels/test_linear.py $cpu/kernels/test_packing.py $cpu/kernels/test_flat.py"
in_root neoverse-n2 sh -c "cd /opt && $pytest --noconftest $cpu/kernels/test_tile.py $cpu/kernels/test_linear.py"
# Those of the engine compare it with the reference, which needs PyTorch.
in_root cortex-a76 sh -c "cd /opt && PYTHONPATH=\$PYTHONPATH:/opt/torch $pytest $cpu/test_engine.py \
    $cpu/test_engine_answers.py"
