#!/bin/sh
# Runs attend on an emulated ARM64 machine and compares its answers with this machine's.
#
#   deploy/arm64/check.sh FOLDER SENTENCES [N]
#
# FOLDER is outside of the checkout and takes 1.5 GB; what it has of an earlier run is used again.
# SENTENCES is a file, of which the first column of the first N (50) lines is translated.
# As root, on Debian, with debootstrap and qemu-user-static; PYTHON is a Python with attend's packages.
set -eu
here=$(dirname "$(realpath "$0")")
checkout=$(realpath "$here/../..")
folder=$(realpath -m "$1") sentences=$(realpath "$2") n=${3:-50}
python=${PYTHON:-$checkout/.venv/bin/python}
root=$folder/root
in_root() { "$here/in-root.sh" "$folder" "$@"; }
case $folder/ in "$checkout"/*) echo "$folder lies in the checkout" >&2; exit 2 ;; esac

# The kernel starts programs for ARM64 with qemu.
registered=/proc/sys/fs/binfmt_misc
[ -e $registered/register ] || mount -t binfmt_misc binfmt_misc $registered
[ -e $registered/qemu-aarch64 ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf > $registered/register

[ -d "$root/etc" ] || debootstrap --arch=arm64 --variant=minbase --include=python3,libgomp1 bookworm "$root"

# Packages are installed from here: wheels need no emulation.
if [ ! -d "$root/opt/site" ]; then
    "$python" - "$checkout/pyproject.toml" > "$folder/requirements.txt" <<'PYTHON'
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    needed = tomllib.load(file)["project"]["dependencies"]
print(*(one for one in needed if not one.startswith("torch")), "pytest", "pytest-timeout", sep="\n")
PYTHON
    platforms=$(for one in manylinux2014 manylinux_2_17 manylinux_2_27 manylinux_2_28 manylinux_2_34; do
        echo "--platform ${one}_aarch64"; done)
    # shellcheck disable=SC2086
    "$python" -m pip install --quiet --target "$root/opt/site" --only-binary=:all: $platforms \
        --python-version 3.11 --constraint "$checkout/constraints.txt" \
        --requirement "$folder/requirements.txt"
fi
rm -rf "$folder/wheel" "$root/opt/attend" "$root/opt/tests"
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$folder/wheel" "$checkout"
"$python" -m pip install --quiet --no-deps --target "$root/opt/attend" "$folder"/wheel/*.whl
cp -r "$checkout/tests" "$here/answers.py" "$root/opt"
cp "$sentences" "$root/opt/sentences"

# Only the name of the instruction, the first line, may differ.
in_root cortex-a76 python3 /opt/answers.py /opt/sentences "$n" > "$folder/arm64"
(cd "$checkout" && PYTHONPATH=$checkout "$python" deploy/arm64/answers.py "$sentences" "$n") > "$folder/here"
echo "instructions: $(head -n 1 "$folder/arm64") and $(head -n 1 "$folder/here")"
for file in arm64 here; do tail -n +2 "$folder/$file" > "$folder/$file.answers"; done
cmp "$folder/arm64.answers" "$folder/here.answers"
echo "$n of $n answers are the same to the last bit"

# The tests of kernels that need no PyTorch; `smmla` is that of the second processor.
kernels=tests/model/engine/cpu/kernels
pytest="python3 -m pytest -q --noconftest -p no:cacheprovider --timeout 3600"
in_root cortex-a76 sh -c "cd /opt && $pytest $kernels/test_instructions.py $kernels/test_tile.py \
    $kernels/test_linear.py $kernels/test_packing.py $kernels/test_flat.py"
in_root neoverse-n2 sh -c "cd /opt && $pytest $kernels/test_tile.py $kernels/test_linear.py"
