#!/bin/sh
# check.sh full|slim CHECKPOINT: a step of the Dockerfile's build, so that no image is made in which a
# verb that it is documented to have does not run, or which would compile its kernels at every start.
set -eu
variant=$1
checkpoint=$2
here=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"

echo "The weather is nice today." >sentence
attend translate --checkpoint "$checkpoint" <sentence 2>messages || {
    cat messages >&2
    exit 1
}
cat messages >&2
if grep -q "compiling kernels" messages; then
    echo "check.sh: the kernels that were compiled into the image are not found" >&2
    exit 1
fi
attend serve --help >serve.help
if [ "$variant" = slim ]; then
    exit
fi

python -c 'for i in range(400):
    word = "".join("abcdefgh"[i % n] for n in (8, 5, 7, 3))
    print(word, word[::-1], sep="\t")' >toy.tsv
attend train "$here/check.toml" --corpora . --run run
attend inspect run/checkpoint >inspected
attend translate --checkpoint run/checkpoint <sentence
printf 'The house is green.\tLa maison est verte.\n' >pairs.tsv
attend evaluate --checkpoint "$checkpoint" --source en --target fr pairs.tsv
attend align --checkpoint "$checkpoint" --source en --target fr pairs.tsv
cp -r "$checkpoint" recorded
attend golden --checkpoint recorded --source en --target fr <sentence
attend export pegasus "$checkpoint" exported
attend init --preset tiny random
attend export marian random marian
attend import marian marian imported
