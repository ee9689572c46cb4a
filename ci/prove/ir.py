"""Reads LLVM's textual IR, as far as the properties of furlong need it.

Functions become blocks of instructions; an instruction is a tuple of its target, its opcode and
its operands. Anything unknown is an error, and is never skipped."""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r'\s*(?:([%@]"(?:[^"\\]|\\.)*"|[%@][-\w.$]+|c"(?:[^"\\]|\\[0-9A-Fa-f]{2})*"'
    r'|<\{|\}>|-?\d+|!?[A-Za-z_][\w.]*|\.\.\.|![\w]+|[(){}\[\]<>,=*:|#!"]))'
)
ATTRIBUTE_WITH_NUMBER = {"align"}
NO_ATTRIBUTES = {
    "null", "true", "false", "poison", "undef", "zeroinitializer", "getelementptr", "inttoptr",
    "ptrtoint", "void", "ptr",
}
FLAGS = {
    "nuw", "nsw", "exact", "disjoint", "samesign", "nneg", "inbounds", "nusw", "tail", "musttail",
    "notail", "volatile", "fast", "inrange",
}


NO_EFFECT = ("@llvm.assume", "@llvm.lifetime.", "@llvm.experimental.noalias")


class Unknown(Exception):
    """A part of the IR that this reader does not know."""


@dataclass(frozen=True)
class Type:
    """`kind` is int, ptr, void, struct or array; `bits` is for int, `items` for the last two."""

    kind: str
    bits: int = 0
    items: tuple = ()
    count: int = 0
    packed: bool = False

    def align(self):
        if self.kind == "int":
            return min(16, max(1, 1 << ((self.bits + 7) // 8 - 1).bit_length()))
        if self.kind == "ptr":
            return 8
        return 1 if self.packed else max((item.align() for item in self.items), default=1)

    def size(self):
        """Bytes in memory, rounded to the alignment."""
        if self.kind in ("int", "ptr"):
            return 8 if self.kind == "ptr" else self.align()
        if self.kind == "array":
            return self.count * self.items[0].size()
        return self.offset(len(self.items))

    def offset(self, index):
        """The offset of a field in a struct; behind the last field, the struct's size."""
        at = 0
        for field in self.items[:index]:
            at = at if self.packed else -(-at // field.align()) * field.align()
            at += field.size()
        ahead = self.items[index].align() if index < len(self.items) else self.align()
        return at if self.packed else -(-at // ahead) * ahead


PTR = Type("ptr")
VOID = Type("void")


def integer(bits):
    return Type("int", bits)


class Tokens:
    """The tokens of a line, read from left to right."""

    def __init__(self, text):
        self.items, at = [], 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if not found:
                raise Unknown(f"token in: {text[at:at + 60]}")
            self.items.append(found.group(1))
            at = found.end()
        self.at = 0

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.items[at] if at < len(self.items) else None

    def next(self):
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token):
        if not self.accept(token):
            raise Unknown(f"{token} wanted, {self.peek()} found in: {' '.join(map(str, self.items))}")

    def skip_group(self):
        """Skips a group in parentheses."""
        depth = 0
        while True:
            token = self.next()
            depth += (token == "(") - (token == ")")
            if depth == 0:
                return

    def skip_flags(self):
        while self.peek() in FLAGS:
            self.next()

    def skip_attributes(self):
        """Skips the attributes between the type of an argument and its value."""
        while (token := self.peek()) and re.fullmatch(r"[a-z][\w.]*", token):
            if token in NO_ATTRIBUTES or re.fullmatch(r"i\d+", token):
                return
            self.next()
            if token in ATTRIBUTE_WITH_NUMBER:
                self.next()
            elif self.peek() == "(":
                self.skip_group()

    def type(self):
        token = self.next()
        if re.fullmatch(r"i\d+", token):
            return integer(int(token[1:]))
        if token == "ptr":
            return PTR
        if token == "void":
            return VOID
        if token in ("{", "<{"):
            close, fields = ("}", []) if token == "{" else ("}>", [])
            while not self.accept(close):
                fields.append(self.type())
                self.accept(",")
            return Type("struct", items=tuple(fields), packed=token == "<{")
        if token == "[":
            count = int(self.next())
            self.expect("x")
            item = self.type()
            self.expect("]")
            return Type("array", items=(item,), count=count)
        raise Unknown(f"type {token}")

    def value(self, of):
        """A value of this type: a name, or a constant."""
        token = self.next()
        if token[0] in "%@":
            return ("name", token)
        if re.fullmatch(r"-?\d+", token):
            return ("const", int(token))
        if token in ("true", "false"):
            return ("const", int(token == "true"))
        if token in ("null", "zeroinitializer"):
            return ("zero", of)
        if token in ("poison", "undef"):
            return ("poison", of)
        if token[:2] == 'c"':
            return ("bytes", unescape(token[2:-1]))
        if token in ("{", "<{", "["):
            close = {"{": "}", "<{": "}>", "[": "]"}[token]
            items = []
            while not self.accept(close):
                items.append((self.type(), None))
                items[-1] = (items[-1][0], self.value(items[-1][0]))
                self.accept(",")
            return ("aggregate", tuple(items))
        if token == "inttoptr":
            self.expect("(")
            inner = self.typed()
            self.expect("to")
            self.type()
            self.expect(")")
            return ("inttoptr", inner)
        if token == "getelementptr":
            self.skip_flags()
            self.expect("(")
            base = self.type()
            self.expect(",")
            operands = []
            while not self.accept(")"):
                operands.append(self.typed())
                self.accept(",")
            return ("gep", base, tuple(operands))
        raise Unknown(f"value {token}")

    def typed(self):
        of = self.type()
        self.skip_attributes()
        return (of, self.value(of))


def unescape(text):
    out, at = bytearray(), 0
    while at < len(text):
        if text[at] == "\\":
            out.append(int(text[at + 1:at + 3], 16))
            at += 3
        else:
            out.append(ord(text[at]))
            at += 1
    return bytes(out)


def instruction(line):
    """(target or None, opcode, operands ..)."""
    tokens = Tokens(line.split(", !")[0] if ", !" in line else line)
    target = None
    if tokens.peek(1) == "=":
        target = tokens.next()
        tokens.next()
    tokens.skip_flags()
    op = tokens.next()
    tokens.skip_flags()
    return (target, op, *OPERANDS.get(op, unknown)(tokens, op))


def unknown(_, op):
    raise Unknown(f"instruction {op}")


def binary(tokens, _):
    of = tokens.type()
    left = tokens.value(of)
    tokens.expect(",")
    return of, left, tokens.value(of)


def compare(tokens, _):
    predicate = tokens.next()
    return (predicate, *binary(tokens, None))


def cast(tokens, _):
    value = tokens.typed()
    tokens.expect("to")
    return value, tokens.type()


def several(tokens, _):
    operands = [tokens.typed()]
    while tokens.accept(","):
        if re.fullmatch(r"\d+", tokens.peek() or "") or tokens.peek() == "align":
            break
        operands.append(tokens.typed())
    return tuple(operands)


def phi(tokens, _):
    of, ways = tokens.type(), []
    while tokens.accept("["):
        value = tokens.value(of)
        tokens.expect(",")
        ways.append((value, tokens.next()))
        tokens.expect("]")
        tokens.accept(",")
    return of, tuple(ways)


def load(tokens, _):
    tokens.accept("atomic")
    of = tokens.type()
    tokens.expect(",")
    return of, tokens.typed()


def store(tokens, _):
    tokens.accept("atomic")
    value = tokens.typed()
    tokens.expect(",")
    return value, tokens.typed()


def element_pointer(tokens, _):
    base = tokens.type()
    operands = []
    while tokens.accept(","):
        operands.append(tokens.typed())
    return base, tuple(operands)


def part(tokens, op):
    operands = [tokens.typed()]
    path = []
    while tokens.accept(","):
        if op == "insertvalue" and len(operands) == 1:
            operands.append(tokens.typed())
        else:
            path.append(int(tokens.next()))
    return tuple(operands), tuple(path)


def call(tokens, _):
    tokens.skip_attributes()
    of = tokens.type()
    tokens.skip_attributes()
    name = tokens.next()
    if name.startswith(NO_EFFECT):
        return of, name, ()
    tokens.expect("(")
    arguments = []
    while not tokens.accept(")"):
        arguments.append(tokens.typed())
        tokens.accept(",")
    return of, name, tuple(arguments)


def branch(tokens, _):
    if tokens.accept("label"):
        return (tokens.next(),)
    condition = tokens.typed()
    tokens.expect(",")
    tokens.expect("label")
    yes = tokens.next()
    tokens.expect(",")
    tokens.expect("label")
    return condition, yes, tokens.next()


def switch(tokens, _):
    value = tokens.typed()
    tokens.expect(",")
    tokens.expect("label")
    default = tokens.next()
    tokens.expect("[")
    cases = []
    while not tokens.accept("]"):
        case = tokens.typed()
        tokens.expect(",")
        tokens.expect("label")
        cases.append((case, tokens.next()))
    return value, default, tuple(cases)


def give_back(tokens, _):
    of = tokens.type()
    return (None,) if of == VOID else ((of, tokens.value(of)),)


OPERANDS = {
    **dict.fromkeys(["add", "sub", "mul", "udiv", "urem", "sdiv", "srem", "and", "or", "xor",
                     "shl", "lshr", "ashr"], binary),
    **dict.fromkeys(["zext", "sext", "trunc", "inttoptr", "ptrtoint"], cast),
    **dict.fromkeys(["select", "freeze"], several),
    **dict.fromkeys(["extractvalue", "insertvalue"], part),
    "icmp": compare, "phi": phi, "load": load, "store": store, "call": call, "br": branch,
    "getelementptr": element_pointer, "switch": switch, "ret": give_back,
    "unreachable": lambda *_: (), "alloca": lambda tokens, _: (tokens.type(),),
}


@dataclass
class Function:
    """Parameters as (type, name, bytes behind a pointer or None), and its lines, by block."""

    parameters: list
    lines: dict
    first: str
    read: dict

    def block(self, name):
        """The instructions of a block, parsed on first use."""
        if name not in self.read:
            self.read[name] = [instruction(line) for line in self.lines[name]]
        return self.read[name]


def module(text):
    """The functions of a module, and the text of its constants, by name."""
    functions, constants, lines = {}, {}, iter(text.splitlines())
    for line in lines:
        if line.startswith("define "):
            name, function = definition(line, lines)
            functions[name] = function
        elif line.startswith("@") and " constant " in line:
            name, _, rest = line.partition(" = ")
            constants[name] = rest.split(" constant ", 1)[1]
    return functions, constants


def definition(header, lines):
    tokens = Tokens(header.split(" unnamed_addr")[0].split(" personality")[0].rstrip(" {"))
    while not tokens.peek().startswith("@"):
        tokens.next()
    name = tokens.next()
    tokens.expect("(")
    parameters = []
    while not tokens.accept(")"):
        of, start = tokens.type(), tokens.at
        tokens.skip_attributes()
        attributes = " ".join(tokens.items[start:tokens.at])
        behind = re.search(r"dereferenceable \( (\d+)", attributes)
        parameters.append((of, tokens.next(), int(behind.group(1)) if behind else None))
        tokens.accept(",")
    blocks, current, first = {}, None, None
    for line in lines:
        if line == "}":
            return name, Function(parameters, blocks, first, {})
        label = re.match(r'("(?:[^"\\]|\\.)*"|[-\w.$]+):', line)
        if label:
            current = "%" + label.group(1)
            first = first or current
            blocks[current] = []
        elif line.startswith("  ") and not line.lstrip().startswith(("#dbg", ";")):
            body = line.strip()
            if body.startswith("switch"):
                while not body.endswith("]") and "], !" not in body:
                    body += " " + next(lines).strip()
            blocks[current].append(body)
    raise Unknown(f"the end of {name}")
