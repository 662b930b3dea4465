import struct
import sys
from pathlib import Path

import pytest
from llvmlite import binding

from model.engine.cpu.kernels.linker import PAGE, CannotLinkError, Linker, link_kernels

X86 = "x86_64-unknown-linux-gnu"
CALLER = """
@here = internal constant [2 x i64] [i64 7, i64 8]
@state = global i64 5
@common = common global i64 0
declare i64 @callee(i64*, i64*)
declare void @elsewhere()
define weak i64 @shared() {
    ret i64 1
}
define i64 @caller() {
    call void @elsewhere()
    %at = getelementptr [2 x i64], [2 x i64]* @here, i64 0, i64 1
    %one = call i64 @callee(i64* %at, i64* @state)
    store i64 %one, i64* @common
    ret i64 %one
}
"""
CALLEE = """
@state = external global i64
define weak i64 @shared() {
    ret i64 2
}
define i64 @callee(i64* %x, i64* %y) {
    call i64 @shared()
    ret i64 3
}
"""


def compiled(code: str, triple: str = X86, model: str = "large") -> bytes:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(triple)
    machine = target.create_target_machine(opt=0, codemodel=model, reloc="static")
    code = f'target triple = "{triple}"\n' + code
    content: bytes = machine.emit_object(binding.parse_assembly(code))
    return content


def number(linker: Linker, at: int) -> int:
    return int(struct.unpack_from("<q", linker.content, at)[0])


def test_symbols_of_other_files_are_found_and_the_first_definition_counts() -> None:
    linker = Linker([compiled(CALLER), compiled(CALLEE)])
    assert linker.symbols.keys() == {"caller", "callee", "shared", "state", "common"}
    assert linker.read_only % PAGE == len(linker.content) % PAGE == 0
    assert linker.symbols["callee"] < linker.read_only <= linker.symbols["state"]
    assert number(linker, linker.symbols["state"]) == 5
    assert number(linker, linker.symbols["common"]) == 0
    addresses = [number(linker, at) for at in linker.internal]
    for name in ("callee", "shared", "state", "common"):
        assert linker.symbols[name] in addresses
    assert 8 in [number(linker, at) for at in addresses if at < linker.read_only]
    [[at]] = linker.external.values()
    assert list(linker.external) == ["elsewhere"]
    assert number(linker, at) == 0


def test_a_symbol_may_be_defined_by_another_name() -> None:
    linker = Linker([compiled(CALLER), compiled(CALLEE)], {"elsewhere": "callee"})
    assert linker.external == {}
    addresses = [number(linker, at) for at in linker.internal]
    assert addresses.count(linker.symbols["callee"]) == 2


def test_other_relocations_and_other_processors_are_refused() -> None:
    with pytest.raises(CannotLinkError, match="relocation of type"):
        Linker([compiled(CALLER, model="small")])
    with pytest.raises(CannotLinkError, match="x86-64"):
        Linker([compiled(CALLER, triple="aarch64-unknown-linux-gnu", model="small")])


def test_kernels_that_cannot_be_linked_leave_an_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise CannotLinkError

    monkeypatch.setattr(sys.modules[link_kernels.__module__], "Linker", refuse)
    link_kernels(tmp_path / "image", [])
    assert (tmp_path / "image").read_bytes() == b""
