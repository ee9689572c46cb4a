"""Runs a function of the IR on bit vectors that stand for all inputs, along every path.

A path ends where the function returns, panics or accesses memory out of bounds. Loops need no
bound of their own: a path that no input takes is not followed."""

import re
import z3
import ir

STEPS_MAX = 200_000


class Stuck(Exception):
    """A case that cannot be decided for all inputs; it never counts as a proof."""


class Pointer:
    """A place in an object: a list of bytes, and an offset."""

    def __init__(self, obj, offset):
        self.obj, self.offset = obj, offset


class Memory:
    """The bytes of one object, `None` if not written yet, and the pointers in it."""

    def __init__(self, size, read_only=False):
        self.bytes, self.read_only, self.pointers = [None] * size, read_only, {}


def bits(value, width):
    return z3.BitVecVal(value, width)


def is_true(condition):
    return condition == bits(1, 1)


def as_bit(condition):
    return z3.If(condition, bits(1, 1), bits(0, 1))


def fold(term):
    return z3.simplify(term)


BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "udiv": z3.UDiv, "urem": z3.URem, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b, "shl": lambda a, b: a << b, "lshr": z3.LShR,
    "ashr": lambda a, b: a >> b, "sdiv": lambda a, b: a / b, "srem": z3.SRem,
}
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "ult": z3.ULT, "ule": z3.ULE,
    "ugt": z3.UGT, "uge": z3.UGE, "slt": lambda a, b: a < b, "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b,
}


def count_ones(a):
    width = a.size()
    total = bits(0, width)
    for at in range(width):
        total = total + z3.ZeroExt(width - 1, z3.Extract(at, at, a))
    return total


def trailing_zeros(a):
    width = a.size()
    found = bits(width, width)
    for at in reversed(range(width)):
        found = z3.If(z3.Extract(at, at, a) == 1, bits(at, width), found)
    return found


def leading_zeros(a):
    width = a.size()
    found = bits(width, width)
    for at in range(width):
        found = z3.If(z3.Extract(at, at, a) == 1, bits(width - 1 - at, width), found)
    return found


def with_overflow(wide, op):
    """A sum, difference or product, and a bit that says if it overflowed."""
    def apply(a, b):
        width, more = a.size(), (a.size() if op == "mul" else 1)
        extend = z3.ZeroExt if wide == "u" else z3.SignExt
        whole = BINARY[op](extend(more, a), extend(more, b))
        short = z3.Extract(width - 1, 0, whole)
        return [short, as_bit(extend(more, short) != whole)]
    return apply


def saturating(op):
    def apply(a, b):
        if op == "usub":
            return z3.If(z3.ULT(a, b), bits(0, a.size()), a - b)
        return z3.If(z3.ULT(a + b, a), bits(-1, a.size()), a + b)
    return apply


def funnel(left):
    def apply(a, b, by):
        width = a.size()
        by = z3.URem(z3.ZeroExt(width, by), bits(width, 2 * width))
        both = z3.Concat(a, b)
        if left:
            return z3.Extract(2 * width - 1, width, both << by)
        return z3.Extract(width - 1, 0, z3.LShR(both, by))
    return apply


INTRINSICS = {
    "umin": lambda a, b: z3.If(z3.ULT(a, b), a, b), "umax": lambda a, b: z3.If(z3.ULT(a, b), b, a),
    "smin": lambda a, b: z3.If(a < b, a, b), "smax": lambda a, b: z3.If(a < b, b, a),
    "ctpop": count_ones, "cttz": lambda a, _: trailing_zeros(a),
    "ctlz": lambda a, _: leading_zeros(a), "usub.sat": saturating("usub"),
    "uadd.sat": saturating("uadd"), "fshl": funnel(True), "fshr": funnel(False),
    **{f"{sign}{op}.with.overflow": with_overflow(sign, op)
       for sign in "us" for op in ("add", "sub", "mul")},
}


class Machine:
    """One property's function, run on `inputs`; possible failures are passed to `ask`."""

    def __init__(self, functions, constants, ask):
        self.functions, self.constants, self.ask = functions, constants, ask
        self.globals, self.path, self.steps = {}, [], 0

    def run(self, name, inputs):
        """Follows every path, and checks at the end of each if it can fail."""
        memory = Memory(8 * len(inputs), read_only=True)
        for at, word in enumerate(inputs):
            for byte in range(8):
                memory.bytes[8 * at + byte] = z3.Extract(8 * byte + 7, 8 * byte, word)
        self.call(name, [Pointer(memory, bits(0, 64))], self.returned)

    def returned(self, value):
        self.ask(self.path, fold(value) != bits(1, 1), "it returns false")

    def call(self, name, arguments, then):
        function = self.functions[name]
        env = {param[1]: value for param, value in zip(function.parameters, arguments)}
        self.block(function, function.first, None, env, then)

    def block(self, function, name, before, env, then):
        """Runs from the beginning of a block to the end of the function."""
        env, lines, at = dict(env), function.block(name), 0
        joins = []
        while lines[at][1] == "phi":
            way = next(value for value, place in lines[at][3] if place == before)
            joins.append((lines[at][0], self.value(env, lines[at][2], way)))
            at += 1
        env.update(joins)
        self.rest(function, name, at, env, then)

    def rest(self, function, name, at, env, then):
        for index in range(at, len(function.block(name))):
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise Stuck(f"more than {STEPS_MAX} steps")
            line = function.block(name)[index]
            target, op = line[:2]
            if op == "br" and len(line) == 3:
                return self.block(function, line[2], name, env, then)
            if op == "br":
                yes = fold(is_true(self.typed(env, line[2])))
                return self.split([(yes, line[3]), (z3.Not(yes), line[4])], function, name, env, then)
            if op == "switch":
                return self.switch(line, function, name, env, then)
            if op == "ret":
                return then(self.typed(env, line[2]) if line[2] else None)
            if op == "unreachable":
                return self.ask(self.path, z3.BoolVal(True), "it reaches what cannot be")
            if op == "call":
                callee = line[3][1:]
                if line[3].startswith(ir.NO_EFFECT):
                    continue
                if not callee.startswith("llvm."):
                    return self.called(line, function, name, index, env, then)
                env[target] = self.intrinsic(callee, line, env)
                continue
            if op == "store":
                self.store(env, line)
                continue
            env[target] = OPERATIONS.get(op, binary)(self, env, line)
        raise Stuck("a block without an end")

    def called(self, line, function, name, index, env, then):
        if "panic" in line[3] or "expect_failed" in line[3] or "unwrap_failed" in line[3]:
            return self.ask(self.path, z3.BoolVal(True), "it panics")
        if line[3] not in self.functions:
            raise Stuck(f"a call of {line[3]}")
        arguments = [self.typed(env, argument) for argument in line[4]]

        def returned(value):
            after = dict(env)
            after[line[0]] = value
            self.rest(function, name, index + 1, after, then)
        return self.call(line[3], arguments, returned)

    def switch(self, line, function, name, env, then):
        value, ways, none = self.typed(env, line[2]), [], z3.BoolVal(True)
        for case, label in line[4]:
            hit = fold(value == self.typed(env, case))
            ways.append((hit, label))
            none = z3.And(none, z3.Not(hit))
        self.split([*ways, (fold(none), line[3])], function, name, env, then)

    def split(self, ways, function, name, env, then):
        for condition, label in ways:
            condition = fold(condition)
            if z3.is_false(condition):
                continue
            self.path.append(condition)
            if z3.is_true(condition) or self.ask(self.path, z3.BoolVal(True), None):
                # Undo the writes of one branch before the other is followed.
                kept = self.saved(env)
                self.block(function, label, name, env, then)
                self.restore(kept)
            self.path.pop()

    def saved(self, env):
        objects = {id(v.obj): v.obj for v in env.values() if isinstance(v, Pointer)}
        changing = [obj for obj in objects.values() if not obj.read_only]
        return [(obj, list(obj.bytes), dict(obj.pointers)) for obj in changing]

    @staticmethod
    def restore(kept):
        for obj, content, pointers in kept:
            obj.bytes, obj.pointers = content, pointers

    def typed(self, env, operand):
        return self.value(env, *operand)

    def value(self, env, of, operand):
        kind, what = operand[0], operand[1]
        if kind == "name" and what.startswith("@"):
            return Pointer(self.constant(what), bits(0, 64))
        if kind == "name":
            return env[what]
        if kind == "const":
            return bits(what, of.bits)
        if kind == "aggregate":
            return [self.typed(env, item) for item in what]
        if kind in ("zero", "poison"):
            return self.zero(of)
        if kind == "gep":
            return element_pointer(self, env, (None, None, what, operand[2]))
        if kind == "inttoptr":
            return Pointer(None, self.typed(env, what))
        raise Stuck(f"a value of kind {kind}")

    def zero(self, of):
        # Poison is read as 0: in a program with defined behaviour no result depends on it.
        if of.kind == "struct":
            return [self.zero(item) for item in of.items]
        if of.kind == "array":
            return [self.zero(of.items[0]) for _ in range(of.count)]
        return Pointer(None, bits(0, 64)) if of.kind == "ptr" else bits(0, of.bits)

    def constant(self, name):
        if name not in self.globals:
            tokens = ir.Tokens(self.constants[name].split(", align")[0])
            of, value = tokens.typed()
            obj = Memory(of.size(), read_only=True)
            self.fill(obj, 0, of, value)
            self.globals[name] = obj
        return self.globals[name]

    def fill(self, obj, at, of, value):
        if value[0] == "bytes":
            obj.bytes[at:at + len(value[1])] = [bits(byte, 8) for byte in value[1]]
        elif value[0] == "aggregate":
            for index, (item, inner) in enumerate(value[1]):
                ahead = index * item.size() if of.kind == "array" else of.offset(index)
                self.fill(obj, at + ahead, item, inner)
        elif of.kind == "int":
            word = self.value({}, of, value)
            for byte in range(of.size()):
                obj.bytes[at + byte] = fold(z3.Extract(8 * byte + 7, 8 * byte, word))
        elif value[0] == "zero":
            obj.bytes[at:at + of.size()] = [bits(0, 8)] * of.size()

    def offsets(self, pointer, size, what):
        """The possible offsets of a pointer; passes the impossible ones to `ask`."""
        if pointer.obj is None:
            raise Stuck(f"{what} through a number")
        offset, room = fold(pointer.offset), len(pointer.obj.bytes)
        if z3.is_bv_value(offset):
            at = offset.as_long()
            if at + size > room:
                self.ask(self.path, z3.BoolVal(True), f"it {what}s out of bounds")
            return [(z3.BoolVal(True), at)]
        self.ask(self.path, z3.UGT(offset, bits(room - size, 64)), f"it {what}s out of bounds")
        step = size
        self.ask(self.path, z3.URem(offset, bits(step, 64)) != 0, f"it {what}s between elements")
        return [(offset == bits(at, 64), at) for at in range(0, room - size + 1, step)]

    @staticmethod
    def known(pointer):
        """The only possible offset of a pointer."""
        offset = fold(pointer.offset)
        if pointer.obj is None or not z3.is_bv_value(offset):
            raise Stuck("a pointer at a place that is not known")
        return offset.as_long()

    def load(self, of, pointer):
        if of.kind == "ptr":
            return pointer.obj.pointers[self.known(pointer)]
        if of.kind != "int":
            raise Stuck(f"a load of {of.kind}")
        size, result = of.size(), None
        for condition, at in self.offsets(pointer, size, "read"):
            taken = pointer.obj.bytes[at:at + size]
            if len(taken) < size or any(byte is None for byte in taken):
                if result is None and z3.is_true(condition):
                    raise Stuck("a read of what was not written")
                continue
            word = z3.Concat(*reversed(taken)) if size > 1 else taken[0]
            result = word if result is None else z3.If(condition, word, result)
        return fold(z3.Extract(of.bits - 1, 0, result) if of.bits < 8 * size else result)

    def store(self, env, line):
        (of, _), where = line[2], self.typed(env, line[3])
        value = self.typed(env, line[2])
        if of.kind == "ptr":
            where.obj.pointers[self.known(where)] = value
            return
        parts = ([(0, of, value)] if of.kind == "int" else
                 [(of.offset(index), item, value[index]) for index, item in enumerate(of.items)])
        for ahead, item, word in parts:
            size = item.size()
            word = z3.ZeroExt(8 * size - item.bits, word) if item.bits < 8 * size else word
            place = Pointer(where.obj, where.offset + ahead)
            for condition, at in self.offsets(place, size, "write"):
                for byte in range(size):
                    new = z3.Extract(8 * byte + 7, 8 * byte, word)
                    old = where.obj.bytes[at + byte]
                    fresh = z3.is_true(condition) or old is None
                    where.obj.bytes[at + byte] = new if fresh else z3.If(condition, new, old)

    def fill_or_copy(self, base, to, what, size):
        size, at = fold(size), self.known(to)
        if not z3.is_bv_value(size) or at + size.as_long() > len(to.obj.bytes):
            raise Stuck("a length that is not known, or too long")
        end = at + size.as_long()
        if base.startswith("memset."):
            to.obj.bytes[at:end] = [what] * (end - at)
            return
        begin = self.known(what)
        from_end = begin + end - at
        to.obj.bytes[at:end] = what.obj.bytes[begin:from_end]
        for place, pointer in list(what.obj.pointers.items()):
            if begin <= place < from_end:
                to.obj.pointers[place - begin + at] = pointer

    def intrinsic(self, callee, line, env):
        name = re.sub(r"^llvm\.", "", callee)
        base = re.sub(r"(\.i\d+)+$", "", name)
        arguments = [self.typed(env, argument) for argument in line[4]]
        if base in ("ucmp", "scmp"):
            less = z3.ULT if base == "ucmp" else (lambda a, b: a < b)
            a, b, width = *arguments, line[2].bits
            return fold(z3.If(a == b, bits(0, width),
                              z3.If(less(a, b), bits(-1, width), bits(1, width))))
        if base == "expect":
            return arguments[0]
        if base.startswith(("memset.", "memcpy.", "memmove.")):
            return self.fill_or_copy(base, *arguments[:3])
        if base not in INTRINSICS:
            raise Stuck(f"the intrinsic {callee}")
        result = INTRINSICS[base](*arguments)
        return [fold(item) for item in result] if isinstance(result, list) else fold(result)


def binary(machine, env, line):
    _, op, of, left, right = line
    if op not in BINARY:
        raise Stuck(f"the instruction {op}")
    a, b = machine.value(env, of, left), machine.value(env, of, right)
    if op in ("udiv", "urem", "sdiv", "srem"):
        machine.ask(machine.path, b == 0, "it divides by 0")
    result = BINARY[op](a, b)
    if op in ("shl", "lshr", "ashr"):
        # A shift beyond the width gives any value: the compiler may have moved the shift before its
        # check.
        result = z3.If(z3.ULT(b, bits(of.bits, of.bits)), result, z3.FreshConst(result.sort()))
    return fold(result)


def compare(machine, env, line):
    _, _, predicate, of, left, right = line
    a, b = machine.value(env, of, left), machine.value(env, of, right)
    if of.kind == "ptr":
        if a.obj is b.obj:
            a, b = a.offset, b.offset
        elif predicate in ("eq", "ne"):
            return bits(int(predicate == "ne"), 1)
        else:
            raise Stuck("an order of pointers into two objects")
    return fold(as_bit(COMPARE[predicate](a, b)))


def cast(machine, env, line):
    _, op, (of, operand), to = line
    value = machine.value(env, of, operand)
    if op == "zext":
        return fold(z3.ZeroExt(to.bits - of.bits, value))
    if op == "sext":
        return fold(z3.SignExt(to.bits - of.bits, value))
    if op == "trunc":
        return fold(z3.Extract(to.bits - 1, 0, value))
    raise Stuck(f"the instruction {op}")


def select(machine, env, line):
    condition = fold(is_true(machine.typed(env, line[2])))
    yes, no = machine.typed(env, line[3]), machine.typed(env, line[4])
    if z3.is_true(condition) or z3.is_false(condition):
        return yes if z3.is_true(condition) else no
    if isinstance(yes, Pointer):
        if yes.obj is not no.obj:
            raise Stuck("one of two pointers into two objects")
        return Pointer(yes.obj, fold(z3.If(condition, yes.offset, no.offset)))
    if isinstance(yes, list):
        return [fold(z3.If(condition, a, b)) for a, b in zip(yes, no)]
    return fold(z3.If(condition, yes, no))


def element_pointer(machine, env, line):
    of, operands = line[2], line[3]
    base, offset = machine.typed(env, operands[0]), None
    for depth, (width, index) in enumerate(operands[1:]):
        value = machine.value(env, width, index)
        if width.bits < 64:
            value = z3.SignExt(64 - width.bits, value)
        if depth == 0:
            step = value * bits(of.size(), 64)
        elif of.kind == "array":
            of = of.items[0]
            step = value * bits(of.size(), 64)
        else:
            step, of = bits(of.offset(index[1]), 64), of.items[index[1]]
        offset = step if offset is None else offset + step
    return Pointer(base.obj, fold(base.offset + offset))


def extract(machine, env, line):
    value = machine.typed(env, line[2][0])
    for index in line[3]:
        value = value[index]
    return value


def insert(machine, env, line):
    whole, part = (machine.typed(env, operand) for operand in line[2])
    (index,) = line[3]
    return [*whole[:index], part, *whole[index + 1:]]


OPERATIONS = {
    **dict.fromkeys(["zext", "sext", "trunc", "inttoptr", "ptrtoint"], cast),
    "icmp": compare, "select": select, "getelementptr": element_pointer, "extractvalue": extract,
    "insertvalue": insert, "freeze": lambda machine, env, line: machine.typed(env, line[2]),
    "load": lambda machine, env, line: machine.load(line[2], machine.typed(env, line[3])),
    "alloca": lambda machine, env, line: Pointer(Memory(line[2].size()), bits(0, 64)),
}
