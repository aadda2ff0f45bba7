"""PTX, the assembly language of NVIDIA's GPUs, taken apart: variables, functions, blocks of instructions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

END = "end"
"""Where a function leads that returns."""

_TOGETHER = ("bar.warp.sync", "shfl.sync", "vote.sync")
_ENDS_BLOCK = ("bra", "ret", "exit", "call", *_TOGETHER)


@dataclass(frozen=True)
class Instruction:
    """One line: ``@%p1 bra $L__BB0_3;`` has a guard, an opcode and operands."""

    opcode: str
    operands: tuple[str, ...]
    guard: str = ""

    @property
    def together(self) -> bool:
        """Whether threads wait there for each other."""
        return self.opcode.startswith(_TOGETHER)

    @property
    def ends_block(self) -> bool:
        """Whether another block begins after it."""
        return self.opcode.split(".")[0] in _ENDS_BLOCK or self.together


@dataclass
class Block:
    """Instructions that follow each other; only the last one leads elsewhere, or waits for others."""

    label: str
    instructions: list[Instruction] = field(default_factory=list)
    ways: tuple[str, ...] = ()
    """The labels of blocks that may come next."""


@dataclass
class Function:
    """A kernel, or what it calls."""

    name: str
    parameters: list[str]
    results: list[str]
    registers: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Types and numbers of registers, by their prefix."""
    depot: int = 0
    """Bytes of local memory."""
    blocks: list[Block] = field(default_factory=list)

    def rejoin(self) -> dict[str, str]:
        """For every block the first one that all ways from it lead through: threads that part meet there."""
        order = [block.label for block in self.blocks]
        every = {*order, END}
        after = dict.fromkeys(order, every) | {END: {END}}
        ways = {block.label: block.ways for block in self.blocks}
        changed = True
        while changed:
            changed = False
            for label in reversed(order):
                found = set.intersection(*(after[way] for way in ways[label])) | {label}
                if found != after[label]:
                    after[label], changed = found, True
        # The nearest of them is the one that has all others after it.
        return {label: max(after[label] - {label}, key=lambda way: len(after[way])) for label in order}


@dataclass(frozen=True)
class Variable:
    """Memory that a program has a name for."""

    name: str
    space: str
    size: int
    content: tuple[str, ...] = ()
    """Its numbers, each of ``size`` divided by their count bytes."""


@dataclass(frozen=True)
class Assembly:
    """A whole program."""

    functions: dict[str, Function]
    variables: dict[str, Variable]


_BYTES = {"b8": 1, "u8": 1, "b16": 2, "u16": 2, "b32": 4, "u32": 4, "b64": 8, "u64": 8, "f64": 8}
_VARIABLE = re.compile(
    r"^\.(?:visible |extern |common |weak )*\.?(global|const|shared) "
    r"\.align \d+ \.(\w+) ([\w$.]+)(?:\[(\d*)\])?(?: = \{(.*)\})?;$"
)
_FUNCTION = re.compile(r"^(?:\.visible )?\.(func|entry)\s*(\([^)]*\))?\s*([\w$]+)\($")
_REGISTER = re.compile(r"^\.reg \.(\w+)\s+%(\w+?)(?:<(\d+)>)?;$")


def parse(text: str) -> Assembly:
    """Take a program apart; what is not understood is refused."""
    functions: dict[str, Function] = {}
    variables: dict[str, Variable] = {}
    lines = [re.sub(r"//.*", "", line).strip() for line in text.splitlines()]
    k = 0
    while k < len(lines):
        line = lines[k]
        if found := _FUNCTION.match(line):
            function = Function(found[3], [], re.findall(r"(\w+)\)", found[2] or ""))
            k += 1
            while not lines[k].startswith(")"):
                function.parameters.append(lines[k].rstrip(",").split()[-1])
                k += 1
            while lines[k] != "{":
                k += 1
            k = _read_body(function, lines, k + 1)
            functions[function.name] = function
        elif found := _VARIABLE.match(line):
            space, kind, name, count, content = found.groups()
            numbers = tuple(part.strip() for part in content.split(",")) if content else ()
            variables[name] = Variable(name, space, _BYTES[kind] * int(count or 1), numbers)
        elif line and not line.startswith((".version", ".target", ".address_size", ".func", ")", ";")):
            raise AssertionError(f"not understood: {line}")
        k += 1
    return Assembly(functions, variables)


def _read_body(function: Function, lines: list[str], k: int) -> int:
    """Read up to the function's end, which is given."""
    block = Block(f"{function.name}.begin")
    function.blocks.append(block)
    depth = 1
    while True:
        line = lines[k]
        if line.startswith("{"):
            depth += 1
        elif line.startswith("}"):
            depth -= 1
            if not depth:
                break
        elif found := _REGISTER.match(line):
            function.registers[found[2]] = found[1], int(found[3] or 0)
        elif found := re.match(r"^\.local \.align \d+ \.b8\s+\S+\[(\d+)\];$", line):
            function.depot = int(found[1])
        elif found := re.match(r"^(\$\w+):$", line):
            block = Block(found[1])
            function.blocks.append(block)
        elif line and not line.startswith((".param", ".loc", ".pragma")):
            while not line.endswith(";"):
                k += 1
                line += " " + lines[k]
            _add(function, _instruction(line.rstrip(";")))
        k += 1
    function.blocks = [each for each in function.blocks if each.instructions or each.label.startswith("$")]
    _find_ways(function)
    return k


def _instruction(line: str) -> Instruction:
    guard, _, rest = line.partition(" ") if line.startswith("@") else ("", "", line)
    opcode, *operands = re.split(r"\s+", rest.strip(), maxsplit=1)
    parts = re.findall(r"\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,\s]+", operands[0] if operands else "")
    return Instruction(opcode, tuple(parts), guard[1:])


def _add(function: Function, instruction: Instruction) -> None:
    block = function.blocks[-1]
    # Where threads wait for each other, a block has nothing else.
    closed = block.instructions and block.instructions[-1].ends_block
    if closed or (instruction.together and block.instructions):
        block = Block(f"{function.name}.{len(function.blocks)}")
        function.blocks.append(block)
    block.instructions.append(instruction)


def _find_ways(function: Function) -> None:
    labels = [block.label for block in function.blocks] + [END]
    for k, block in enumerate(function.blocks):
        following = labels[k + 1]
        last = block.instructions[-1] if block.instructions else Instruction("nop", ())
        if last.opcode in ("ret", "exit"):
            block.ways = (END,)
        elif last.opcode.startswith("bra"):
            target = last.operands[0]
            block.ways = (target, following) if last.guard else (target,)
        else:
            block.ways = (following,)
