"""From PTX to C: every instruction for all threads of a warp, see ``warps.h``."""

from __future__ import annotations

import re
from pathlib import Path

from emulation.assembly import Assembly, Function, Instruction, parse
from equipoise.core.jit.nvptx import ENTRY, TABLE

_HERE = Path(__file__).parent
_SHARED = "equipoise_shared"
_C = {"b8": "uint8_t", "b16": "uint16_t", "b32": "uint32_t", "b64": "uint64_t", "pred": "uint8_t"}
_SPECIAL = {
    "%tid.x": "(first_thread + l)",
    "%ntid.x": "threads",
    "%ctaid.x": "block_number",
    "%nctaid.x": "blocks",
}
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^", "rem": "%"}
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def to_c(ptx: str, *, counted: bool = False) -> str:
    """A program whose function ``run`` runs the kernel; it may count what is done."""
    assembly = parse(ptx)
    numbers = {
        (function.name, label.label): k
        for k, (function, label) in enumerate(
            (function, block) for function in assembly.functions.values() for block in function.blocks
        )
    }
    parts = [
        f"#define BLOCKS {len(numbers)}",
        f"#define COUNTED {int(counted)}",
        (_HERE / "warps.h").read_text(),
        *_variables(assembly),
    ]
    tables: dict[str, list[str]] = {name: [] for name in ("block", "mask", "rejoin", "called", "is_kernel")}
    functions = list(assembly.functions.values())
    for place, function in enumerate(functions):
        parts += _Translator(assembly, function, place, numbers, counted=counted).declarations()
    for place, function in enumerate(functions):
        translator = _Translator(assembly, function, place, numbers, counted=counted)
        rejoin = function.rejoin()
        for block in function.blocks:
            k = numbers[function.name, block.label]
            parts.append(translator.block(k, block))
            together = block.instructions and block.instructions[0].together
            tables["block"].append(f"block_{k}")
            tables["mask"].append(f"mask_{k}" if together else "0")
            tables["rejoin"].append(str(numbers.get((function.name, rejoin[block.label]), "END")))
            tables["called"].append(translator.callee(block))
            tables["is_kernel"].append(str(int(function.name == ENTRY)))
    kernel = assembly.functions[ENTRY]
    parts += [
        f"#define FIRST {numbers[ENTRY, kernel.blocks[0].label]}",
        f"static block *const block_of[BLOCKS] = {{{', '.join(tables['block'])}}};",
        f"static masks *const mask_of[BLOCKS] = {{{', '.join(tables['mask'])}}};",
        *(
            f"static const int {name}[BLOCKS] = {{{', '.join(tables[name])}}};"
            for name in ("rejoin", "called", "is_kernel")
        ),
        "static void begin(const int64_t *words) {",
        *(
            f"for (int l = 0; l < WARP; l++) f{functions.index(kernel)}_{_c_name(name)}[l] = words[{k}];"
            for k, name in enumerate(kernel.parameters)
        ),
        "}",
        (_HERE / "warps.c").read_text(),
    ]
    return "\n".join(parts)


def _c_name(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _variables(assembly: Assembly) -> list[str]:
    """Memory by its name; that of the table is seen from outside."""
    lines = []
    for variable in assembly.variables.values():
        if variable.name == _SHARED:
            continue
        # Addresses of objects of Python, which no program reads, are left out.
        content = [number for number in variable.content if "generic" not in number]
        count = len(content) or variable.size
        kind = _C[f"b{8 * variable.size // (len(variable.content) or variable.size)}"]
        start = f" = {{{', '.join(content)}}}" if content else ""
        static = "" if variable.name == TABLE else "static "
        lines.append(f"{static}_Alignas(32) {kind} {_c_name(variable.name)}[{count}]{start};")
    return lines


class _Translator:
    """Of one function."""

    def __init__(
        self,
        assembly: Assembly,
        function: Function,
        place: int,
        numbers: dict[tuple[str, str], int],
        *,
        counted: bool,
    ) -> None:
        self._counted = counted
        self._assembly, self._function, self._numbers = assembly, function, numbers
        self._prefix = f"f{place}_"
        self._passed = {name: f"f{place}_{_c_name(name)}" for name in function.parameters + function.results}

    def declarations(self) -> list[str]:
        """Its registers, parameters and local memory."""
        lines = [
            f"static {_C[kind]} {self._prefix}{prefix}[{max(count, 1)}][WARP];"
            for prefix, (kind, count) in self._function.registers.items()
        ]
        lines += [f"static uint64_t {name}[WARP];" for name in self._passed.values()]
        return [*lines, f"static uint64_t {self._prefix}depot[WARP][{self._function.depot // 8 + 1}];"]

    def callee(self, block: object) -> str:
        """The first block of the function that a block calls."""
        called = self._called(block)
        if called is None:
            return "END"
        return str(self._numbers[called.name, called.blocks[0].label])

    def block(self, k: int, block: object) -> str:
        """A function of C for a block of instructions."""
        lines = [f"static void block_{k}(uint32_t mask) {{"]
        instructions, ways = list(block.instructions), block.ways
        last = instructions[-1] if instructions else None
        leads = last is not None and last.opcode.split(".")[0] in ("bra", "ret", "exit", "call")
        for instruction in instructions[:-1] if leads else instructions:
            if instruction.opcode in ("st.param.b64", "st.param.b32") and "func_retval" not in str(
                instruction.operands[0]
            ):
                continue  # handed over where the function is called
            assert not instruction.guard, f"{instruction} is not understood"
            lines += self._emit(instruction)
        targets = [str(self._numbers.get((self._function.name, way), "END")) for way in ways]
        if leads and last.opcode in ("ret", "exit"):
            goal = "END" if self._function.name == ENTRY else "back[l]"
            lines.append(f"EACH_ALONE next[l] = {goal};")
        elif (called := self._called(block)) is not None:
            handed = [each for each in instructions if each.opcode.startswith("st.param")]
            given = {each.operands[0].strip("[]"): each.operands[1] for each in handed}
            names = last.operands[-1].strip("()").replace(" ", "").split(",")
            place = list(self._assembly.functions).index(called.name)
            for parameter, name in zip(called.parameters, names, strict=True):
                lines.append(f"ALONE f{place}_{_c_name(parameter)}[l] = {self._value(given[name], 'b64')};")
            lines.append(f"EACH_ALONE {{ back[l] = {targets[0]}; next[l] = {self.callee(block)}; }}")
        elif leads and last.guard:
            lines.append(f"EACH_ALONE next[l] = {self._guard(last.guard)} ? {targets[0]} : {targets[1]};")
        else:
            lines.append(f"EACH_ALONE next[l] = {targets[0]};")
        lines = [*_in_one_go(lines), "}"]
        if instructions and instructions[0].together:
            wanted = self._value(
                instructions[0].operands[0 if "bar" in instructions[0].opcode else -1], "b32"
            )
            lines.append(f"static uint32_t mask_{k}(uint32_t l) {{ return {wanted}; }}")
        return "\n".join(lines)

    def _called(self, block: object) -> Function | None:
        last = block.instructions[-1] if block.instructions else None
        if last is None or not last.opcode.startswith("call"):
            return None
        return next(
            self._assembly.functions[part] for part in last.operands if part in self._assembly.functions
        )

    def _guard(self, guard: str) -> str:
        return f"!{self._value(guard[1:], 'pred')}" if guard.startswith("!") else self._value(guard, "pred")

    def _value(self, operand: str, kind: str) -> str:
        """An operand as it is in registers: bits, or a number of 32 bits or less."""
        if operand in _SPECIAL:
            return _SPECIAL[operand]
        if found := re.fullmatch(r"%(SP|SPL)", operand):
            return f"{self._prefix}{found[1]}[0][l]"
        if found := re.fullmatch(r"%([a-z]+)(\d+)", operand):
            return f"{self._prefix}{found[1]}[{found[2]}][l]"
        if found := re.fullmatch(r"0d([0-9A-F]{16})", operand):
            return f"UINT64_C(0x{found[1]})"
        if re.fullmatch(r"-?\d+|0x[0-9A-Fa-f]+", operand):
            return f"((uint64_t)INT64_C({operand}))" if operand != str(-(2**63)) else "(UINT64_C(1) << 63)"
        if operand.startswith("__local_depot"):
            return f"((uint64_t){self._prefix}depot[l])"
        if operand == _SHARED:
            return "((uint64_t)near_memory)"
        if operand in self._assembly.variables:
            return f"((uint64_t){_c_name(operand)})"
        raise AssertionError(f"operand {operand} is not understood")

    def _emit(self, instruction: Instruction) -> list[str]:
        """Lines of C; those that begin with ALONE are for one thread each."""
        name, *kinds = instruction.opcode.split(".")
        operands = instruction.operands
        if name in ("ld", "st"):
            return self._access(name, kinds, operands)
        if name in ("prefetch", "nop") or instruction.opcode == "bar.warp.sync":
            return []
        if name == "shfl":
            return [self._exchange(kinds, operands)]
        if name == "activemask":
            return [f"ALONE {self._value(operands[0], 'b32')} = mask;"]
        if name == "vote":
            goal, source, members = (self._value(part, "b32") for part in operands)
            return [
                f"{{ uint32_t holds = 0; EACH_ALONE holds |= (uint32_t)!!({source}) << l; "
                f"EACH_ALONE {goal} = (holds & {members}) != 0; }}"
            ]
        if operands[0].startswith("{"):
            source = self._value(operands[1], "b64")
            halves = zip((0, 32), re.findall(r"[^{},\s]+", operands[0]), strict=True)
            parts = [f"{self._value(part, 'b32')} = {source} >> {by};" for by, part in halves if part != "_"]
            return [f"ALONE {' '.join(parts)}"]
        if len(operands) > 1 and operands[1].startswith("{"):
            low, high = (self._value(part, "b32") for part in re.findall(r"[^{},\s]+", operands[1]))
            goal = self._value(operands[0], "b64")
            return [f"ALONE {goal} = (uint64_t){low} | (uint64_t){high} << 32;"]
        goal, *sources = (self._value(part, kinds[-1] if kinds else "b64") for part in operands)
        return [f"ALONE {goal} = {_computed(name, kinds, sources)};"]

    def _access(self, name: str, kinds: list[str], operands: tuple[str, ...]) -> list[str]:
        space = kinds[0] if kinds[0] in ("global", "shared", "const", "param", "local") else "generic"
        values, place = (operands[0], operands[1]) if name == "ld" else (operands[1], operands[0])
        where = place.strip("[]")
        if space == "param":
            own = {key: value for key, value in self._passed.items() if key == where}
            if where.startswith("retval"):
                # What the function that was called last has left.
                found = [f for f in self._assembly.functions.values() if f.results]
                index = list(self._assembly.functions).index(found[0].name)
                source = f"f{index}_{_c_name(found[0].results[0])}[l]"
            else:
                source = f"{own[where]}[l]"
            if name == "ld":
                return [f"ALONE {self._value(values, 'b64')} = {source};"]
            return [f"ALONE {source} = {self._value(values, 'b64')};"]
        base, _, offset = where.partition("+")
        address = f"{self._value(base, 'b64')} + (uint64_t)INT64_C({offset or 0})"
        numbers = [self._value(part, "b64") for part in re.findall(r"[^{},\s]+", values)]
        size = int(kinds[-1][1:]) // 8
        kind = f"int{8 * size}_t" if kinds[-1].startswith("s") else f"uint{8 * size}_t"
        whole = size * len(numbers)
        lines = []
        if self._counted and space in ("global", "shared"):
            far = f"note_near(mask, where_, {whole})" if space == "shared" else "note_far(mask, where_)"
            lines = [f"{{ uint64_t where_[WARP]; EACH_ALONE where_[l] = {address}; {far}; }}"]
        if name == "ld":
            body = " ".join(f"{number} = p_[{k}];" for k, number in enumerate(numbers))
            lines.append(f"ALONE {{ const {kind} *p_ = at({address}, {whole}); {body} }}")
        else:
            body = " ".join(f"p_[{k}] = ({kind}){number};" for k, number in enumerate(numbers))
            lines.append(f"EACH {{ {kind} *p_ = at({address}, {whole}); {body} }}")
        return lines

    def _exchange(self, kinds: list[str], operands: tuple[str, ...]) -> str:
        goal, *sources = (self._value(part, "b32") for part in operands)
        value, place, bounds, _ = sources
        flips = int(kinds[1] == "bfly")
        return (
            f"{{ uint32_t given[WARP], taken[WARP]; EACH_ALONE given[l] = {value}; "
            f"EACH_ALONE taken[l] = given[giver(l, {flips}, {place}, {bounds})]; "
            f"EACH_ALONE {goal} = taken[l]; }}"
        )


def _in_one_go(lines: list[str]) -> list[str]:
    """Instructions that no thread sees of another are done by one after the other."""
    found: list[str] = []
    for line in lines:
        if not line.startswith("ALONE"):
            found.append(line)
        elif found[-1].startswith("EACH_ALONE"):
            found[-1] = f"{found[-1][:-1]}\n{line[6:]} }}"
        else:
            found.append(f"EACH_ALONE {{ {line[6:]} }}")
    return found


def _computed(name: str, kinds: list[str], sources: list[str]) -> str:
    """What an instruction computes, as bits."""
    kind = kinds[-1] if kinds else ""
    if name in ("mov", "cvta"):
        return sources[0]
    if name == "selp":
        return f"{sources[2]} ? {sources[0]} : {sources[1]}"
    if name == "setp":
        return _comparison(kinds[0], kind, sources)
    if name == "cvt":
        return _conversion(kinds, sources[0])
    if kind == "pred":
        return f"!{sources[0]}" if name == "not" else f"{sources[0]} {_SYMBOLS[name]} {sources[1]}"
    if kind == "f64":
        return f"bits({_real(name, kinds, [f'number({source})' for source in sources])})"
    width = int(kind[1:])
    signed = kind.startswith("s")
    as_type = f"int{width}_t" if signed else f"uint{width}_t"
    given = [f"(({as_type})({source}))" for source in sources]
    if name in ("shl", "shr"):
        by = f"(uint32_t)({sources[1]})"
        if name == "shl":
            return f"(uint{width}_t)shifted_left({given[0]}, {by})"
        return f"shifted_{'down' if signed else 'right'}({given[0]}, {by})"
    if name == "shf" and kinds == ["l", "wrap", "b32"]:
        low, high, by = sources
        return f"(uint32_t)((((uint64_t)({high}) << 32 | (uint32_t)({low})) << (({by}) & 31)) >> 32)"
    if name in ("min", "max"):
        return f"{given[0]} {'<' if name == 'min' else '>'} {given[1]} ? {given[0]} : {given[1]}"
    if name == "neg":
        return f"-(uint{width}_t){given[0]}"
    if name == "not":
        return f"(uint{width}_t)~{given[0]}"
    if name == "clz":
        return f"{given[0]} ? __builtin_clzll({given[0]}) : 64"
    if name == "popc":
        return f"__builtin_popcountll({given[0]})"
    if name == "bfe":
        return f"({given[0]} >> {given[1]}) & (uint32_t)((UINT64_C(1) << {given[2]}) - 1)"
    if "hi" in kinds:
        wide = "__int128" if signed else "unsigned __int128"
        return f"(uint{width}_t)(({wide}){given[0]} * {given[1]} >> {width})"
    if "wide" in kinds:
        wide = f"({'' if signed else 'u'}int64_t)"
        return f"{wide}{given[0]} * {wide}{given[1]}"
    plain = [f"((uint{width}_t)({source}))" for source in sources]
    if name == "mad":
        return f"(uint{width}_t)({plain[0]} * {plain[1]} + {plain[2]})"
    if name in ("div", "rem"):
        return f"{given[0]} {_SYMBOLS[name]} {given[1]}"
    if name in _SYMBOLS:
        return f"(uint{width}_t)({plain[0]} {_SYMBOLS[name]} {plain[1]})"
    raise AssertionError(f"{name}.{'.'.join(kinds)} is not understood")


def _real(name: str, kinds: list[str], given: list[str]) -> str:
    if name in ("add", "sub", "mul", "div", "sqrt", "rcp", "fma"):
        assert kinds[0] == "rn", (name, kinds)
    if name == "fma":
        return f"__builtin_fma({', '.join(given)})"
    if name == "sqrt":
        return f"sqrt({given[0]})"
    if name == "rcp":
        return f"1.0 / {given[0]}"
    if name == "neg":
        return f"-{given[0]}"
    if name == "abs":
        return f"fabs({given[0]})"
    if name == "copysign":
        return f"copysign({given[1]}, {given[0]})"
    if name in ("min", "max"):
        return f"f{name}({given[0]}, {given[1]})"
    return f"{given[0]} {_SYMBOLS[name]} {given[1]}"


def _comparison(how: str, kind: str, sources: list[str]) -> str:
    if kind == "f64":
        left, right = (f"number({source})" for source in sources)
        if how in ("nan", "num"):
            return f"{'' if how == 'nan' else '!'}__builtin_isunordered({left}, {right})"
        if how == "ne":
            return f"!__builtin_isunordered({left}, {right}) && {left} != {right}"
        if how.endswith("u"):
            return f"__builtin_isunordered({left}, {right}) || {left} {_COMPARED[how[:-1]]} {right}"
        return f"{left} {_COMPARED[how]} {right}"
    as_type = f"{'' if kind.startswith('s') else 'u'}int{kind[1:]}_t"
    left, right = (f"({as_type})({source})" for source in sources)
    return f"{left} {_COMPARED[how]} {right}"


_TO_WHOLE = {"rmi": "floor", "rpi": "ceil", "rzi": "trunc", "rni": "nearbyint"}


def _conversion(kinds: list[str], source: str) -> str:
    goal, given = kinds[-2], kinds[-1]
    if goal == given == "f64":
        return f"bits({_TO_WHOLE[kinds[0]]}(number({source})))"
    if goal == "f64":
        sign = "" if given.startswith("s") else "u"
        return f"bits((double)({sign}int{given[1:]}_t)({source}))"
    if given == "f64":
        assert kinds[0] == "rzi"
        return {"s64": "(uint64_t)whole", "u64": "natural"}[goal] + f"(number({source}))"
    sign = "" if given.startswith("s") else "u"
    return f"(uint{goal[1:]}_t)({sign}int{given[1:]}_t)({source})"
