"""The instruction chosen for each processor, and the code LLVM generates for other processors."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from llvmlite import binding, ir

from model.engine.cpu.kernels.compiling.byte_products import add_products, by_rows
from model.engine.cpu.kernels.compiling.llvm import INT8, INT32, INT64, INTS, loop, store
from model.engine.cpu.kernels.instructions import (
    INSTRUCTIONS,
    LANES,
    PORTABLE,
    Instruction,
    best_instruction,
)
from model.engine.cpu.kernels.target import family, features_of, host_features, runs_here

X86, ARM = "x86_64-linux-gnu", "aarch64-linux-gnu"
BY_NAME = {one.name: one for one in (PORTABLE, *(one for _, one in INSTRUCTIONS))}


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ("+avx2,+avx512bw,+avx512vl,+avx512vnni,+sse4.1", "vpdpbusd zmm"),
        ("+avx2,+avxvnni,-avx512bw,+sse4.1", "vpdpbusd ymm"),
        ("+avx2,+avx512bw,-avx512vnni,+sse4.1", "vpmaddwd zmm"),
        ("+avx2,-avx512bw,-avx512vnni,+sse4.1", "vpmaddwd ymm"),
        ("+sse4.1,-avx2", "pmaddwd xmm"),
        ("", "portable"),
    ],
)
def test_the_best_instruction_of_an_x86_processor_is_chosen(features: str, name: str) -> None:
    assert best_instruction(features_of(X86, "generic", features)).name == name


@pytest.mark.parametrize(
    ("processor", "features", "name"),
    [
        ("cortex-a72", "+neon", "portable"),
        ("cortex-a76", "+neon", "sdot"),  # LLVM lists neither feature
        ("neoverse-n1", "+neon", "sdot"),
        ("neoverse-v1", "+neon", "smmla"),
        ("apple-m1", "", "sdot"),
        ("apple-m2", "", "smmla"),
        ("generic", "+dotprod", "sdot"),
        ("generic", "", "portable"),
    ],
)
def test_the_best_instruction_of_an_arm_processor_is_chosen(
    processor: str, features: str, name: str
) -> None:
    machine_of(ARM, processor)
    assert best_instruction(features_of(ARM, processor, features)).name == name


def test_the_features_of_this_processor_are_those_that_llvm_finds() -> None:
    found = {name for name, has in binding.get_host_cpu_features().items() if has}
    features = {feature for target in family() for feature in target.features}
    assert features & host_features() == features & features_of(
        binding.get_default_triple(),
        binding.get_host_cpu_name(),
        ",".join(f"+{name}" for name in found),
    )


def test_features_can_be_taken_away() -> None:
    code = (
        "from model.engine.cpu.kernels import instructions as i, linear\nprint(i.INSTRUCTION.name)"
    )
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "+avx2,-avx512bw,-avx512vnni",
    }
    printed = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert printed.strip() == "vpmaddwd ymm"


PRODUCTS = """
import hashlib
from model.engine.cpu.kernels.instructions import INSTRUCTION
from tests.model.engine.cpu.kernels.test_linear import apply, normal, pack_float32, pack_int8
print(INSTRUCTION.name)
for pack in pack_int8, pack_float32:
    linear = pack([normal(70, 300, seed=1)], [normal(70, seed=2)])
    print(hashlib.sha256(apply(linear, normal(9, 300))[:, :70].tobytes()).hexdigest())
"""


def test_products_have_the_same_bits_on_every_kind_of_processor() -> None:
    """With VNNI, without it, and with AVX2 only, as far as this processor supports them."""
    found = {}
    for target in filter(runs_here, family()):
        environment = {"PYTHONPATH": os.pathsep.join(sys.path), "KERNEL_TARGET": target.name}
        command = [sys.executable, "-c", PRODUCTS]
        printed = subprocess.check_output(command, env=os.environ | environment, text=True)
        name, *found[target.name] = printed.splitlines()
        assert name == best_instruction(set(target.features)).name
    assert len(set(map(tuple, found.values()))) <= 1, found


def inner_loop(instruction: Instruction, triple: str, processor: str, n_rows: int) -> Counter[str]:
    """Return the mnemonics of the longest loop of a tile's products."""
    module = ir.Module()
    module.triple = triple
    x_type = ir.IntType(instruction.bits).as_pointer()
    arguments = [x_type, INT8.as_pointer(), INT64, INT64, INT32.as_pointer()]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), "tile")
    b = ir.IRBuilder(function.append_basic_block())
    x, weights, inputs, width, out = function.args
    rows = [b.gep(x, [b.mul(width, INT64(i))]) for i in range(n_rows)]

    def turn(k: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        at = b.gep(weights, [b.mul(k, INT64(instruction.columns))])
        return add_products(instruction, b, sums, at, [b.gep(row, [k]) for row in rows])

    zeros = [ir.Constant(INTS, None)] * instruction.n_sums(n_rows)
    sums = loop(b, INT64(0), inputs, instruction.group, zeros, turn)
    for i, one in enumerate(by_rows(instruction, b, sums, n_rows)):
        store(b, one, b.gep(out, [INT64(LANES * i)]))
    b.ret_void()
    return longest_loop(assembly(str(module), triple, processor))


def machine_of(triple: str, processor: str) -> binding.TargetMachine:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"llvmlite cannot compile for {triple}")
    return target.create_target_machine(cpu=processor, opt=3)


def assembly(code: str, triple: str, processor: str) -> list[str]:
    machine = machine_of(triple, processor)
    module = binding.parse_assembly(code)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return [line.strip() for line in machine.emit_assembly(module).splitlines()]


def longest_loop(lines: list[str]) -> Counter[str]:
    labels, loops = {}, []
    for at, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = at
        elif (jump := re.match(r"(?:j|b\.|cb|tb).*?(\.L\w+)$", line)) and jump[1] in labels:
            loops.append(lines[labels[jump[1]] : at])
    code = (line.removeprefix("{vex}").split() for line in max(loops, key=len))
    return Counter(words[0] for words in code if words and not re.match(r"[.#/]", words[0]))


@pytest.mark.parametrize(
    ("name", "triple", "processor", "products", "loads"),
    [
        ("vpdpbusd zmm", X86, "sapphirerapids", {"vpdpbusd": 16}, 8),
        ("vpdpbusd ymm", X86, "alderlake", {"vpdpbusd": 8}, 6),
        ("vpmaddwd zmm", X86, "skylake-avx512", {"vpmaddwd": 16, "vpaddd": 16}, 8),
        ("vpmaddwd ymm", X86, "haswell", {"vpmaddwd": 8, "vpaddd": 8}, 6),
        ("sdot", ARM, "cortex-a76", {"sdot": 16}, 6),
        ("smmla", ARM, "neoverse-v1", {"smmla": 16}, 8),
        ("portable", ARM, "cortex-a72", {"smlal": 8, "smlal2": 8}, 5),
    ],
)  # fmt: skip
def test_a_tile_of_four_rows_keeps_its_sums_in_registers(
    name: str, triple: str, processor: str, products: dict[str, int], loads: int
) -> None:
    found = inner_loop(BY_NAME[name], triple, processor, n_rows=4)
    assert {mnemonic: found[mnemonic] for mnemonic in products} == products
    # Memory is only read: weights, widened if necessary, and a group of each row.
    kinds = r"vmovdq.*|vpmovsxbw|vpbroadcastd|ld.*"
    assert sum(n for mnemonic, n in found.items() if re.fullmatch(kinds, mnemonic)) <= loads
    assert not any(re.match(r"st|push|movap", mnemonic) for mnemonic in found)
