"""Families of opcodes."""

INTEGER_BINARY = frozenset(
    ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor")
)
FLOAT_BINARY = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem"))
BINARY = INTEGER_BINARY | FLOAT_BINARY
CASTS = frozenset(
    (
        "trunc",
        "zext",
        "sext",
        "fptrunc",
        "fpext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "ptrtoint",
        "ptrtoaddr",
        "inttoptr",
        "bitcast",
        "addrspacecast",
    )
)
COMPARISONS = frozenset(("icmp", "fcmp"))
