"""The fast path on CPUs: Numba kernels on whole vectors, with hand-derived gradients.

docs/math.md derives the gradients ("Gradients") and counts the arithmetic ("Counting the roofline"). What is
where, top to bottom:

1. vectors: a Numba type for LLVM's vectors, so that nothing hangs on the auto-vectoriser. A *vector* has L
   lanes (one AVX-512 register: 16 float32 or 8 float64), a *block* is four vectors of rows. LLVM splits both
   where the machine's registers are narrower;
2. exp, log, and tanh with σ, on vectors;
3. the values that a kernel is given: `Net`, `Rules`, `Crew`;
4. one layer, forward and backward, for one block of rows of one member;
5. one optimizer step on L parameters;
6. the restart rule;
7. `train`, the kernel: some steps of a crew, a few dozen members with the same network.

A crew lies in memory in one of two ways. *Narrow*: the lanes of a vector are L members, so that a network of
nine parameters wastes nothing. *Wide*: the lanes are L parameters of one member. In both, parameter j of
member p has one flat index, ``first[p] + j * stride``. Sums over rows are kept as vectors of L partial sums, and
L of these become one vector of sums by a tree of shuffles. Every sum is added up in the same order in both
ways, and nothing depends on the other members of a crew.

All kernels are in this file because Numba's disk cache does not notice an edit in another one.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import hashlib
import math
import operator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, typeof, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)  # fmt: skip
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_builtin,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)  # fmt: skip
from numba.np.numpy_support import from_dtype

_inline = njit(forceinline=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

# 1. Vectors


class Vec(types.Type):  # type: ignore[misc]
    """Some lanes of float32 or float64."""

    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Vec({dtype}, {count})")


class Mask(types.Type):  # type: ignore[misc]
    """A truth value a lane."""

    def __init__(self, count):
        self.count = count
        super().__init__(name=f"Mask({count})")


@register_model(Vec)
class _VecModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, kind):
        element = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(element, kind.count))


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), kind.count))


class Pointer(types.Type):  # type: ignore[misc]
    """Where numbers of one dtype lie. An array in the kernels' arguments would be seven values, not one."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Pointer({dtype})")


@register_model(Pointer)
class _PointerModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, kind):
        super().__init__(manager, kind, manager.lookup(kind.dtype).get_data_type().as_pointer())


class Memory:
    """A contiguous array as the kernels take it: they see its numbers one after another, without bounds."""

    def __init__(self, array: Any) -> None:
        if not array.flags.c_contiguous:
            raise ValueError("kernels need contiguous arrays")
        self.array, self.address = array, array.ctypes.data


class RecordType(types.Type):  # type: ignore[misc]
    """Named values of eight bytes each in memory: one argument, where a tuple would be as many as it is long.

    What a kernel compiles to is the same; that it compiles at all within seconds is not.
    """

    def __init__(self, kind, fields):
        self.fields = fields
        # The name is part of every symbol, so it must be short.
        digest = hashlib.sha256(str(fields).encode()).hexdigest()[:8]
        super().__init__(name=f"{kind}({digest})")


@register_model(RecordType)
class _RecordModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


class Record:
    """A named tuple of numbers, truth values and `Memory` as the kernels take it."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.fields = tuple(
            (name, Pointer(from_dtype(v.array.dtype)) if isinstance(v, Memory) else typeof(v))
            for name, v in values._asdict().items()
        )
        words = [v.address if isinstance(v, Memory) else v for v in values]
        self.words = np.array([np.float64(w).view(np.int64) if isinstance(w, float) else w for w in words])
        self.address = self.words.ctypes.data


@typeof_impl.register(Record)
def _type_of_record(value, context):
    return RecordType(type(value.values).__name__, value.fields)


@unbox(RecordType)
def _unbox_record(kind, value, c):
    attribute = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.number_as_ssize_t(attribute)
    c.pyapi.decref(attribute)
    return NativeValue(c.builder.inttoptr(address, c.context.get_value_type(kind)))


@infer_getattr
class _RecordAttributes(AttributeTemplate):  # type: ignore[misc]
    key = RecordType

    def generic_resolve(self, kind, name):
        return dict(kind.fields).get(name)


@lower_getattr_generic(RecordType)
def _get_field(context, builder, kind, value, name):
    number = [field for field, _ in kind.fields].index(name)
    field = kind.fields[number][1]
    stored = ir.IntType(64) if field == types.boolean else context.get_value_type(field)
    place = builder.gep(value, [ir.Constant(ir.IntType(64), number)])
    word = _constant(builder, builder.load(builder.bitcast(place, stored.as_pointer())))
    return builder.icmp_unsigned("!=", word, ir.Constant(stored, 0)) if field == types.boolean else word


def _constant(builder, load):
    """Tell LLVM that no store of the kernel changes what is loaded, so that it need not be loaded again."""
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


@infer_global(operator.getitem)
class _GetTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args, kws):
        return signature(args[0].dtype, args[0], types.intp) if isinstance(args[0], Pointer) else None


@lower_builtin(operator.getitem, Pointer, types.intp)
def _get(context, builder, sig, args):
    return context.unpack_value(builder, sig.return_type, builder.gep(args[0], [args[1]]))


@infer_global(operator.setitem)
class _SetTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args, kws):
        if isinstance(args[0], Pointer):
            return signature(types.none, args[0], types.intp, args[0].dtype)
        return None


@lower_builtin(operator.setitem, Pointer, types.intp, types.Any)
def _set(context, builder, sig, args):
    context.pack_value(builder, sig.args[2], args[2], builder.gep(args[0], [args[1]]))
    return context.get_dummy_value()


def lanes(dtype) -> int:
    """L: numbers in a vector of this dtype."""
    return 16 if dtype in (types.float32, np.float32, "float32") else 8


def _is_single(kind) -> bool:
    return isinstance(kind.element, ir.FloatType)


def _order(*lane_numbers):
    """The constant that tells a shuffle which lanes to take."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lane_numbers)), list(lane_numbers))


def _spread(builder, value, count):
    if isinstance(value, ir.Constant):
        return ir.Constant(ir.VectorType(value.type, count), [value] * count)
    nothing = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, _order(*[0] * count))


def _call(builder, name, *args):
    kind = args[0].type
    suffix = f"v{kind.count}{'f32' if _is_single(kind) else 'f64'}"
    function = ir.FunctionType(kind, [kind] * len(args))
    return builder.call(builder.module.declare_intrinsic(f"llvm.{name}.{suffix}", (), function), args)


def _vectors(builder, sig, args):
    """The arguments as vectors, numbers spread over the lanes."""
    count = next(t.count for t in sig.args if isinstance(t, Vec))
    return [
        a if isinstance(t, Vec) else _spread(builder, a, count) for t, a in zip(sig.args, args, strict=True)
    ]


def _common(*args):
    """(The vectors' type, the arguments' types with numbers in its dtype); None where they do not fit."""
    vec = next((a for a in args if isinstance(a, Vec)), None)
    if vec is None or not all(a == vec or isinstance(a, types.Float | types.Integer) for a in args):
        return None
    return vec, [a if isinstance(a, Vec) else vec.dtype for a in args]


def _operator(op, emit, result):
    @infer_global(op)
    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args, kws):
            common = _common(*args)
            return common and signature(result(common[0]), *common[1])

    def lower(context, builder, sig, args):
        return emit(builder, *_vectors(builder, sig, args))

    for kinds in ((Vec, Vec), (Vec, types.Float), (types.Float, Vec)):
        lower_builtin(op, *kinds)(lower)


@infer_global(operator.and_)
class _AndTemplate(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args, kws):
        return signature(args[0], *args) if all(isinstance(a, Mask) for a in args) else None


@lower_builtin(operator.and_, Mask, Mask)
def _and(context, builder, sig, args):
    return builder.and_(*args)


for _op, _name in (
    (operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv"),
):  # fmt: skip
    _operator(_op, lambda builder, a, b, name=_name: getattr(builder, name)(a, b), lambda vec: vec)
for _op, _sign in ((operator.lt, "<"), (operator.gt, ">"), (operator.ge, ">="), (operator.eq, "==")):
    _operator(
        _op, lambda builder, a, b, sign=_sign: builder.fcmp_ordered(sign, a, b), lambda vec: Mask(vec.count)
    )
_operator(operator.ne, lambda builder, a, b: builder.fcmp_unordered("!=", a, b), lambda vec: Mask(vec.count))


def _llvm(name, arity):
    """An LLVM function that does the same in every lane."""

    def emit(context, builder, sig, args):
        return _call(builder, name, *_vectors(builder, sig, args))

    @intrinsic
    def one(typing, a):
        return a(a), emit

    @intrinsic
    def two(typing, a, b):
        vec, kinds = _common(a, b)
        return vec(*kinds), emit

    @intrinsic
    def three(typing, a, b, c):
        vec, kinds = _common(a, b, c)
        return vec(*kinds), emit

    return (one, two, three)[arity - 1]


sqrt, absolute = _llvm("sqrt", 1), _llvm("fabs", 1)
copysign = _llvm("copysign", 2)
# a * b + c, with one rounding where the machine can.
fma = _llvm("fmuladd", 3)


@intrinsic
def where(typing, mask, a, b):
    """a where the mask is true, else b."""
    vec, kinds = _common(a, b)

    def emit(context, builder, sig, args):
        x, y = (
            v if isinstance(t, Vec) else _spread(builder, v, vec.count)
            for t, v in zip(sig.args[1:], args[1:], strict=True)
        )
        return builder.select(args[0], x, y)

    return vec(mask, *kinds), emit


@intrinsic
def anywhere(typing, mask):
    """Whether the mask is true in some lane."""

    def emit(context, builder, sig, args):
        bits = ir.IntType(mask.count)
        return builder.icmp_unsigned("!=", builder.bitcast(args[0], bits), ir.Constant(bits, 0))

    return types.boolean(mask), emit


def _pointer(builder, memory, index, kind):
    return builder.bitcast(builder.gep(memory, [index]), kind.as_pointer())


def _aligned(instruction, array):
    # Rows start anywhere; without this LLVM would trust them to lie at multiples of 64 bytes.
    instruction.align = 4 if array.dtype == types.float32 else 8
    return instruction


def _readers(vectors):
    @intrinsic
    def read(typing, array, index):
        vec = Vec(array.dtype, vectors * lanes(array.dtype))

        def emit(context, builder, sig, args):
            kind = context.get_value_type(vec)
            return _aligned(builder.load(_pointer(builder, *args, kind)), array)

        return vec(array, types.intp), emit

    @intrinsic
    def fill(typing, array, number):
        vec = Vec(array.dtype, vectors * lanes(array.dtype))

        def emit(context, builder, sig, args):
            return _spread(builder, args[1], vec.count)

        return vec(array, array.dtype), emit

    return read, fill


# vector(a, n): the L numbers of a from index n on. vector_of(a, z): z in every lane, in a's dtype.
vector, vector_of = _readers(1)
block, block_of = _readers(4)


@intrinsic
def store(typing, array, index, value):
    """Write a vector or a block into an array from an index on."""

    def emit(context, builder, sig, args):
        pointer = _pointer(builder, args[0], args[1], args[2].type)
        _aligned(builder.store(args[2], pointer), array)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), emit


@intrinsic
def store_some(typing, array, index, value, count):
    """Write the first ``count`` lanes of a vector into an array from an index on."""

    def emit(context, builder, sig, args):
        kind = args[2].type
        counts = ir.VectorType(ir.IntType(64), kind.count)
        mask = builder.icmp_signed(
            "<", ir.Constant(counts, list(range(kind.count))), _spread(builder, args[3], kind.count)
        )
        pointer = _pointer(builder, args[0], args[1], kind)
        name = f"llvm.masked.store.v{kind.count}{'f32' if _is_single(kind) else 'f64'}.p0"
        align = ir.Constant(ir.IntType(32), 4 if _is_single(kind) else 8)
        function = ir.FunctionType(ir.VoidType(), [kind, pointer.type, align.type, mask.type])
        builder.call(builder.module.declare_intrinsic(name, (), function), [args[2], pointer, align, mask])
        return context.get_dummy_value()

    return types.void(array, types.intp, value, types.int64), emit


def _quarters(builder, value):
    count = value.type.count // 4
    nothing = ir.Constant(value.type, ir.Undefined)
    return [
        builder.shuffle_vector(value, nothing, _order(*range(n * count, (n + 1) * count))) for n in range(4)
    ]


@intrinsic
def fold_product(typing, a, b):
    """Two blocks → the vector that sums the four vectors of a * b."""

    def emit(context, builder, sig, args):
        (x, *xs), (y, *ys) = (_quarters(builder, v) for v in args)
        total = builder.fmul(x, y)
        for u, v in zip(xs, ys, strict=True):
            total = _call(builder, "fmuladd", u, v, total)
        return total

    return Vec(a.dtype, lanes(a.dtype))(a, b), emit


@intrinsic
def fold_where(typing, mask, a):
    """A block → the vector that sums its four vectors, with zeros where the mask is false."""

    def emit(context, builder, sig, args):
        (m, *ms), (x, *xs) = (_quarters(builder, v) for v in args)
        total = builder.select(m, x, ir.Constant(x.type, [0.0] * x.type.count))
        for u, v in zip(ms, xs, strict=True):
            total = builder.select(u, builder.fadd(total, v), total)
        return total

    return Vec(a.dtype, lanes(a.dtype))(mask, a), emit


def _levels(count):
    """How the tree of `sums_of` goes: for each level, the lanes of two vectors to be added to each other."""
    if count == 16:
        # unpcklps with unpckhps, then unpcklpd with unpckhpd: shuffles that stay within 128 bits are cheap.
        pairs = [([0, 16, 1, 17], [2, 18, 3, 19]), ([0, 1, 16, 17], [2, 3, 18, 19])]
    else:
        pairs = [([0, 8], [1, 9])]
    size = len(pairs[0][0])
    levels = [
        tuple([start + lane for start in range(0, count, size) for lane in half] for half in pair)
        for pair in pairs
    ]
    low = [half + part + lane for half in (0, count) for part in (0, 2 * size) for lane in range(size)]
    return [*levels, (low, [lane + size for lane in low]), (low, [lane + size for lane in low])]


@intrinsic
def sums_of(typing, array, index):
    """Read L vectors that lie one after another; return the vector of their sums over lanes."""
    vec = Vec(array.dtype, lanes(array.dtype))

    def emit(context, builder, sig, args):
        kind = context.get_value_type(vec)
        rows = []
        for n in range(vec.count):
            at = builder.add(args[1], ir.Constant(args[1].type, n * vec.count))
            rows.append(_aligned(builder.load(_pointer(builder, args[0], at, kind)), array))
        for low, high in _levels(vec.count):
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [
                builder.fadd(*(builder.shuffle_vector(a, b, _order(*half)) for half in (low, high)))
                for a, b in pairs
            ]
        return rows[0]

    return vec(array, types.intp), emit


# 2. Functions


def _number(single, double):
    """A constant that depends on the dtype: called with a vector, it gives its value in every lane."""

    @intrinsic
    def number(typing, x):
        def emit(context, builder, sig, args):
            value = single if x.dtype == types.float32 else double
            return ir.Constant(args[0].type, [value] * x.count)

        return x(x), emit

    return number


def _polynomial(single, double):
    """A polynomial, highest coefficient first, in float32 and in float64."""

    @intrinsic
    def polynomial(typing, x):
        def emit(context, builder, sig, args):
            kind = args[0].type
            coefficients = single if x.dtype == types.float32 else double
            first, *others = (ir.Constant(kind, [c] * x.count) for c in coefficients)
            for coefficient in others:
                first = _call(builder, "fmuladd", first, args[0], coefficient)
            return first

        return x(x), emit

    return polynomial


one = _number(1.0, 1.0)
infinity = _number(math.inf, math.inf)
# Added to a number, it leaves the nearest integer in the last bits.
magic = _number(12582912.0, 6755399441055744.0)
ln2_high = _number(0.693359375, 6.93147180369123816490e-1)
ln2_low = _number(-2.12194440e-4, 1.90821492927058770002e-10)
exp_bottom = _number(-87.0, -708.0)
exp_top = _number(88.72283, 709.782712893384)
# e**r = 1 + r + r² · polynomial: Cephes' expf; Taylor.
exp_series = _polynomial(
    (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
    tuple(1.0 / math.factorial(k) for k in range(13, 1, -1)),
)
# Cephes' logf; atanh's series in s = f / (2 + f): log(1 + f) = 2 (s + s³/3 + s⁵/5 + …), by fdlibm's coefficients.
log_series = _polynomial(
    (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    ),
    (
        1.479819860511658591e-1, 1.531383769920937332e-1, 1.818357216161805012e-1, 2.222219843214978396e-1,
        2.857142874366239149e-1, 3.999999999940941908e-1, 6.666666666666735130e-1, 0.0,
    ),
)  # fmt: skip


def _bits(kind):
    width, fraction = (32, 23) if _is_single(kind) else (64, 52)
    whole = ir.VectorType(ir.IntType(width), kind.count)
    return whole, lambda number: ir.Constant(whole, [number] * kind.count), fraction


@intrinsic
def times_power(typing, x, n):
    """x * 2**k, where n = k + magic.

    NaN stays NaN: the last bits of those that arithmetic makes are zeros.
    """

    def emit(context, builder, sig, args):
        whole, same, fraction = _bits(args[0].type)
        moved = builder.shl(builder.bitcast(args[1], whole), same(fraction))
        return builder.bitcast(builder.add(builder.bitcast(args[0], whole), moved), args[0].type)

    return x(x, n), emit


@intrinsic
def split_power(typing, x):
    """Positive x → (m, k) with x = m * 2**k and m in [sqrt(1/2), sqrt(2))."""

    def emit(context, builder, sig, args):
        whole, same, fraction = _bits(args[0].type)
        root = same(0x3F3504F3 if x.dtype == types.float32 else 0x3FE6A09E667F3BCD)
        number = builder.bitcast(args[0], whole)
        k = builder.ashr(builder.sub(number, root), same(fraction))
        m = builder.bitcast(builder.sub(number, builder.shl(k, same(fraction))), args[0].type)
        return context.make_tuple(builder, sig.return_type, (m, builder.sitofp(k, args[0].type)))

    return types.UniTuple(x, 2)(x), emit


@_inline
def exp_parts(x):
    """x between `exp_bottom` and `exp_top` → (n, d) with e**x = (1 + d) * 2**k; see `times_power` for n."""
    n = fma(x, 1.4426950408889634, magic(x))
    whole = n - magic(x)
    r = fma(whole, ln2_low(x) * -1.0, fma(whole, ln2_high(x) * -1.0, x))
    return n, fma(r * r, exp_series(r), r)


@_inline
def exp_fall(x):
    """e**x for x below 80; where it would be less than the least normal number, about that."""
    n, d = exp_parts(where(x < exp_bottom(x), exp_bottom(x), x))
    return times_power(d + 1.0, n)


@_inline
def exp(x):
    """e**x for any x."""
    high = x > exp_top(x)
    return where(high, infinity(x), exp_fall(where(high, exp_bottom(x), x)))


def log_fraction(f):
    """log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2))."""
    raise NotImplementedError


@overload(log_fraction, jit_options={"forceinline": True, "error_model": "numpy"})
def _log_fraction(f):
    def single(f):
        z = f * f
        return f + fma(z, -0.5, f * z * log_series(f))

    def double(f):
        s = f / (f + 2.0)
        half = f * f * 0.5
        return f - (half - s * (half + log_series(s * s)))

    return single if f.dtype == types.float32 else double


@_inline
def log(x):
    """Natural logarithm of positive, normal x; infinity and NaN stay what they are."""
    m, k = split_power(x)
    f = m - 1.0
    y = fma(k, ln2_high(x), fma(k, ln2_low(x), log_fraction(f)))
    return where(x < infinity(x), y, x)


@_inline
def tanh_sigmoid(a, b):
    """(tanh(a), σ(b)) with one division and no overflow."""
    # exp(-2|a|) - 1 by its parts, which keeps its digits near a = 0.
    twice = absolute(a) * -2.0
    n, d = exp_parts(where(twice < exp_bottom(a), exp_bottom(a), twice))
    power = times_power(one(a), n)
    fall = fma(power, d, power - 1.0)
    e = exp_fall(absolute(b) * -1.0)
    over_a, over_b = fall + 2.0, e + 1.0
    r = 1.0 / (over_a * over_b)
    half = over_a * r
    return copysign(fall * over_b * r, a), where(b > 0.0, half, e * half)


@_inline
def sigmoid(b):
    """σ(b), without overflow."""
    e = exp_fall(absolute(b) * -1.0)
    return where(b > 0.0, one(b), e) / (e + 1.0)


# 3. Values


SQUARED, SAMPSON, PATHS = range(3)


class Net(NamedTuple):
    """What the kernel needs to know of a network. ``layout`` has a row a layer, with `LAYOUT`'s columns."""

    depth: int
    gated: bool
    # Where the gate comes from: 0 constant, 1 one column of inputs, 2 a column for each output.
    gate: int
    # What the last layer is trained by: `SQUARED`, `SAMPSON` or `PATHS`.
    loss: int
    # 0 no sign vector, 1 the paper's, 2 with the published code's order of weights.
    sign: int
    bounded: bool
    epsilon: float
    # Infinity where nothing bounds the exponent.
    omega: float
    # Pairs (W_hat, M_hat) and gates in all, and in the first layer; the most outputs of a layer.
    pairs: int
    gates: int
    pairs_0: int
    gates_0: int
    layout: Any


# Inputs, outputs, the first of its pairs of the additive and of the multiplicative path, the first of its
# gates; where in the scratch its inputs, their logarithms, their gradients and what is saved for the way back
# begin; how far apart the inputs, and what is saved, are for one member and the next.
LAYOUT = (
    "inputs",
    "outputs",
    "additive",
    "multiplicative",
    "gate",
    "x",
    "log_x",
    "dx",
    "saved",
    "step",
    "saved_step",
)
INPUTS, OUTPUTS, ADDITIVE, MULTIPLICATIVE, GATE, X, LOG_X, DX, SAVED, STEP, SAVED_STEP = range(len(LAYOUT))


class Rules(NamedTuple):
    """What the kernel needs to know of a recipe, with numbers in place of what is switched off."""

    epochs: int
    batches: int
    adam: bool
    tensorflow: bool
    rate: float
    beta1: float
    beta2: float
    epsilon: float
    # Moments below this are kept as zero.
    floor: float
    decays: bool
    decay_final: float
    decay_hold: float
    clip: float
    # Of every ``period`` steps the first ``turn`` are for weights; period 0: all steps are for all.
    period: int
    turn: int
    # The first epoch of the regulariser; -1: none.
    pull_after: int
    pull_below: float
    pull_reach: float
    pull_apart: bool
    # 0: no restarts.
    look_every: int
    look_window: int
    look_all: bool
    look_each: bool
    look_tolerance: float
    look_above: float
    keep_optimizer: bool
    # Make no step; leave the gradients where Adam's first moment is.
    probe: bool
    # Sets of weights that each member has.
    starts: int


class Crew(NamedTuple):
    """Members with the same network and number of rows, under way. All arrays are flat or [P, …]."""

    wide: bool
    members: int
    # Blocks of state (a member, or L of them), and vectors a block of pairs and of gates.
    blocks: int
    pair_vectors: int
    gate_vectors: int
    stride: int
    # Flat index of each member's first pair and gate.
    first_pair: Any
    first_gate: Any
    # Data: x [D, blocks of rows, I, 4L]; y and weight [targets, blocks of rows, O, 4L]; which blocks of x hold
    # a zero; members sets[d] … sets[d + 1] - 1 have data set d.
    x: Any
    y: Any
    weight: Any
    scaled: bool
    zeros: Any
    sets: Any
    data_sets: int
    target: Any
    rows: int
    batch: int
    row_blocks: int
    # Parameters, with the optimizer's moments.
    w_hat: Any
    w_first: Any
    w_second: Any
    m_hat: Any
    m_first: Any
    m_second: Any
    g_hat: Any
    g_first: Any
    g_second: Any
    # tanh(W_hat), σ(M_hat), their product W, 1 - 2|W|, its logarithmic derivative, and σ(G) or G.
    tanh: Any
    sigma: Any
    weights: Any
    factor: Any
    factor_slope: Any
    gates: Any
    # The gradients of W and the gates; the regulariser's pull on one block's pairs and gates.
    d_weights: Any
    d_gates: Any
    pair_pull: Any
    gate_pull: Any
    # Adam's bias corrections by step.
    correction1: Any
    correction2: Any
    corrections: int
    # A number a lane of each block: learning rates, second corrections, whether the regulariser acts.
    weight_rate: Any
    weight_bias: Any
    gate_rate: Any
    gate_bias: Any
    acting: Any
    # Scratch of the layers; partial sums; a loss a member, with its partial sums.
    scratch: Any
    partial: Any
    loss: Any
    loss_partial: Any
    # A bit a layer: whether a member's inputs of it hold a zero.
    hidden_zeros: Any
    outputs: Any
    keeps_outputs: bool
    # Steps of weights, steps of gates, step of the last start, restarts, first epoch after it, steps in all.
    clock: Any
    alive: Any
    # Mini-batch losses, [steps or a ring of them, P up to a multiple of L].
    history: Any
    history_steps: int
    columns: int
    moments: Any
    marks: Any
    epoch_sum: Any
    epoch_loss: Any
    restarts: Any
    # Packed starts [P, R, K], and the packed index of each pair's W_hat and M_hat and of each gate.
    starts: Any
    w_index: Any
    m_index: Any
    g_index: Any


WEIGHT_STEPS, GATE_STEPS, BORN, RESTARTS, FIRST_EPOCH, STEPS = range(6)
CLOCK = 6

# Inputs that all members walk together. Of 16 … 112, 64 was fastest at 100 inputs: fewer cost more turns, with
# more the rows of x and log x do not stay in the first-level cache.
SLAB = 64


@intrinsic
def compact(typing):
    """Tell LLVM to keep the function that calls this small: unrolled and split loops cost seconds to compile."""

    def emit(context, builder, sig, args):
        builder.function.attributes.add("optsize")
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def vector_size(typing, array):
    """L, known to the compiler."""
    count = lanes(array.dtype)
    return types.intp(array), lambda context, builder, sig, args: ir.Constant(ir.IntType(64), count)


# 4. One layer


@intrinsic
def place(typing, net, layer, column):
    """An entry of the layout."""

    def emit(context, builder, sig, args):
        layout = _get_field(context, builder, net, args[0], "layout")
        row = builder.mul(args[1], ir.Constant(ir.IntType(64), len(LAYOUT)))
        return _constant(builder, builder.load(builder.gep(layout, [builder.add(row, args[2])])))

    return types.int64(net, types.int64, types.int64), emit


@_inline
def read_rows(net, crew, start):
    """Bring one block of rows into the scratch: x [I, 4L] and its logarithms."""
    scratch, size = crew.scratch, 4 * vector_size(crew.scratch)
    x, log_x = place(net, 0, X), place(net, 0, LOG_X)
    for i in range(place(net, 0, INPUTS)):
        value = block(crew.x, start + i * size)
        store(scratch, x + i * size, value)
        if net.gated:
            store(scratch, log_x + i * size, log_size(net, value))


@_inline
def log_size(net, x):
    """log(max(|x|, ε)), or log(|x| + ε) where nothing bounds the exponent."""
    size = absolute(x)
    return log(where(size < net.epsilon, net.epsilon, size) if net.bounded else size + net.epsilon)


@_inline
def sign_pair(net, layer, o, i):
    """The pair whose weight turns the sign for input i and output o."""
    inputs, outputs = place(net, layer, INPUTS), place(net, layer, OUTPUTS)
    n = o * inputs + i
    if net.sign == 2:
        # The published code reads [I, O] weights as if they were [O, I].
        n = (n % outputs) * inputs + n // outputs
    return place(net, layer, MULTIPLICATIVE) + n


@_inline
def inputs_at(net, layer, column, p):
    """Where in the scratch member p's inputs of a layer are; the first layer's are those of all members."""
    return place(net, layer, column) + p * place(net, layer, STEP)


@_inline
def no_sums(scratch):
    zero = block_of(scratch, 0.0)
    return zero, zero, block_of(scratch, 1.0), zero


@_inline
def add_inputs(net, crew, sums, layer, o, start, stop, zeros, p):
    """Add the inputs start … stop - 1 to (x W_a, log|x| W_m, the sign product, x G) of output o of member p."""
    compact()
    a, z, s, u = sums
    scratch, weights, factor = crew.scratch, crew.weights, crew.factor
    size, stride, first = 4 * vector_size(scratch), crew.stride, crew.first_pair[p]
    inputs = place(net, layer, INPUTS)
    x, log_x = inputs_at(net, layer, X, p), inputs_at(net, layer, LOG_X, p)
    to_a = first + (place(net, layer, ADDITIVE) + o * inputs) * stride
    to_m = first + (place(net, layer, MULTIPLICATIVE) + o * inputs) * stride
    if not net.gated:
        for i in range(start, stop):
            a = fma(block(scratch, x + i * size), weights[to_a + i * stride], a)
        return a, z, s, u
    if net.sign == 1 and not zeros:
        for i in range(start, stop):
            value = block(scratch, x + i * size)
            a = fma(value, weights[to_a + i * stride], a)
            z = fma(block(scratch, log_x + i * size), weights[to_m + i * stride], z)
            s = where(value < 0.0, s * factor[to_m + i * stride], s)
    else:
        for i in range(start, stop):
            value = block(scratch, x + i * size)
            a = fma(value, weights[to_a + i * stride], a)
            z = fma(block(scratch, log_x + i * size), weights[to_m + i * stride], z)
            if net.sign:
                pair = first + sign_pair(net, layer, o, i) * stride
                s = where(value < 0.0, s * factor[pair], s)
                s = where(value == 0.0, s * (1.0 - abs(weights[pair])), s)
    if net.gate:
        to_g = crew.first_gate[p] + gate_start(net, layer, o) * stride
        for i in range(start, stop):
            u = fma(block(scratch, x + i * size), crew.gates[to_g + i * stride], u)
    return a, z, s, u


@_inline
def gate_start(net, layer, o):
    """The first gate parameter of output o."""
    return place(net, layer, GATE) + (o * place(net, layer, INPUTS) if net.gate == 2 else 0)


@_inline
def combine(net, crew, sums, layer, o, p):
    """Sums → (y, m ⊙ s, a, g) of output o."""
    a, z, s, u = sums
    if not net.gated:
        return a, z, a, z
    capped = where(z > net.omega, net.omega, z)
    m = exp_fall(capped) if net.omega < 80.0 else exp(capped)
    if net.sign:
        m = m * s
    if net.gate:
        g = sigmoid(u)
    else:
        g = block_of(m, crew.gates[crew.first_gate[p] + (place(net, layer, GATE) + o) * crew.stride])
    return fma(g, a, (1.0 - g) * m), m, a, g


@_inline
def split_gradient(net, dy, m, a, g, z):
    """dL/dy of an output → dL/da, dL/dz, dL/ds · s and dL/d(gate's argument)."""
    if not net.gated:
        return dy, dy, dy, dy
    to_m = dy * (1.0 - g) * m
    return dy * g, where(z > net.omega, 0.0, to_m), to_m, dy * (a - m) * (g * (1.0 - g))


@_inline
def put(crew, row, value, fresh):
    """Set a row of the partial sums, or add to it."""
    at = row * vector_size(crew.partial)
    if fresh:
        store(crew.partial, at, value)
    else:
        store(crew.partial, at, vector(crew.partial, at) + value)


@_inline
def give_inputs(net, crew, gradients, layer, o, start, stop, zeros, p, rows, fresh):
    """Leave the partial sums of the gradients of output o's weights for inputs start … stop - 1, and dL/dx."""
    compact()
    # Where a flag is a constant, LLVM leaves its branches out of the loop; two loops are worth that.
    plain, signed = net.gated and not net.sign, net.gated and net.sign == 1 and not zeros
    if fresh and signed:
        give_weights(net, crew, gradients, layer, o, start, stop, p, rows, True, False, True)
    elif fresh and plain:
        give_weights(net, crew, gradients, layer, o, start, stop, p, rows, True, True, False)
    else:
        give_weights(net, crew, gradients, layer, o, start, stop, p, rows, fresh, plain, signed)
    if net.gated and net.gate:
        # A gate column that serves all outputs gathers from them all.
        first_of_all = fresh and (net.gate == 2 or o == 0 or (crew.wide and layer == 0))
        give_gates(net, crew, gradients[3], layer, start, stop, p, rows[2], first_of_all)
    if layer > 0:
        pass_back(net, crew, gradients, layer, o, p)


@_inline
def give_weights(net, crew, gradients, layer, o, start, stop, p, rows, fresh, plain, signed):
    """The partial sums for weights; ``plain``: without a sign; ``signed``: with one, and no input is zero."""
    da, dz, ds, _ = gradients
    scratch, weights, stride = crew.scratch, crew.weights, crew.stride
    size, first, inputs = 4 * vector_size(scratch), crew.first_pair[p], place(net, layer, INPUTS)
    x, log_x = inputs_at(net, layer, X, p), inputs_at(net, layer, LOG_X, p)
    a_pair, m_pair = place(net, layer, ADDITIVE) + o * inputs, place(net, layer, MULTIPLICATIVE) + o * inputs
    a_row, m_row, _ = rows
    step = 1 if crew.wide else stride
    merged = a_pair == m_pair
    for i in range(start, stop):
        value = block(scratch, x + i * size)
        to_a = fold_product(da, value)
        if not (plain or signed or net.gated):
            put(crew, a_row + i * step, to_a, fresh)
            continue
        to_m = fold_product(dz, block(scratch, log_x + i * size))
        if signed:
            slope = crew.factor_slope[first + (m_pair + i) * stride]
            to_m = fma(fold_where(value < 0.0, ds), slope, to_m)
        elif not plain:
            pair = sign_pair(net, layer, o, i)
            at = first + pair * stride
            to_s = fold_where(value < 0.0, ds) * crew.factor_slope[at]
            to_s = fma(fold_where(value == 0.0, ds), zero_slope(weights[at]), to_s)
            if net.sign == 1:
                to_m = to_m + to_s
            else:
                # Narrow only: the row of another pair, set to zero beforehand.
                put(crew, first + pair * stride, to_s, False)
        if merged:
            put(crew, a_row + i * step, to_a + to_m, fresh)
        else:
            put(crew, a_row + i * step, to_a, fresh)
            put(crew, m_row + i * step, to_m, fresh)


@_inline
def give_gates(net, crew, du, layer, start, stop, p, row, fresh):
    """The partial sums for a column of gate parameters."""
    x, size = inputs_at(net, layer, X, p), 4 * vector_size(crew.scratch)
    step = 1 if crew.wide else crew.stride
    for i in range(start, stop):
        put(crew, row + i * step, fold_product(du, block(crew.scratch, x + i * size)), fresh)


@_inline
def zero_slope(w):
    """d log(1 - |w|) / dw, where a zero of x has the factor 1 - |w|."""
    rest = 1.0 - abs(w)
    return 0.0 if w == 0.0 else -math.copysign(1.0, w) / (rest if rest != 0.0 else 1e-18)


@_inline
def pass_back(net, crew, gradients, layer, o, p):
    """Add output o's part to the gradients of a hidden layer's inputs, and of their logarithms."""
    da, dz, _, du = gradients
    scratch, weights, stride = crew.scratch, crew.weights, crew.stride
    size, first, inputs = 4 * vector_size(scratch), crew.first_pair[p], place(net, layer, INPUTS)
    a_pair, m_pair = place(net, layer, ADDITIVE) + o * inputs, place(net, layer, MULTIPLICATIVE) + o * inputs
    dx = inputs_at(net, layer, DX, p)
    d_log = dx + inputs * size
    to_g = crew.first_gate[p] + gate_start(net, layer, o) * stride
    zero = block_of(scratch, 0.0)
    for i in range(inputs):
        old = zero if o == 0 else block(scratch, dx + i * size)
        new = fma(da, weights[first + (a_pair + i) * stride], old)
        if net.gated and net.gate:
            new = fma(du, crew.gates[to_g + i * stride], new)
        store(scratch, dx + i * size, new)
        if net.gated:
            old = zero if o == 0 else block(scratch, d_log + i * size)
            store(scratch, d_log + i * size, fma(dz, weights[first + (m_pair + i) * stride], old))


@_inline
def input_gradient(net, crew, layer, i, p):
    """dL/dx of hidden input i: the additive part, and through its logarithm."""
    scratch, size = crew.scratch, 4 * vector_size(crew.scratch)
    at, inputs = inputs_at(net, layer, DX, p) + i * size, place(net, layer, INPUTS)
    direct = block(scratch, at)
    if not net.gated:
        return direct
    x, through = block(scratch, inputs_at(net, layer, X, p) + i * size), block(scratch, at + inputs * size)
    if net.bounded:
        return where(absolute(x) >= net.epsilon, direct + through / x, direct)
    slope = through / copysign(absolute(x) + net.epsilon, x)
    return where(x == 0.0, direct, direct + slope)


@_inline
def rows_of(net, crew, layer, o, p, start):
    """The rows of partial sums for output o: of its additive, its multiplicative and its gate's parameters."""
    inputs, stride = place(net, layer, INPUTS), crew.stride
    a = place(net, layer, ADDITIVE) + o * inputs
    m = place(net, layer, MULTIPLICATIVE) + o * inputs
    g = gate_start(net, layer, o)
    if not crew.wide:
        pair, gate = crew.first_pair[p], gate_row(net, crew, p)
        return pair + a * stride, pair + m * stride, gate + g * stride
    if layer > 0:
        later = own_rows(net, p) - net.pairs_0
        return later + a, later + m, gate_row(net, crew, p) + g
    local = own_rows(net, crew.members) - start
    return local, local + SLAB, local + 2 * SLAB


@_inline
def own_rows(net, p):
    """Wide: where member p's rows of partial sums begin; they hold all but the first layer's inputs."""
    return p * (net.pairs - net.pairs_0 + net.gates)


@_inline
def gate_row(net, crew, p):
    """The row of partial sums of member p's first gate."""
    if crew.wide:
        return own_rows(net, p) + net.pairs - net.pairs_0
    return crew.blocks * net.pairs * crew.stride + crew.first_gate[p]


@_inline
def gather(crew, target, at, row, count, fresh):
    """Turn ``count`` rows of partial sums into sums, which are set or added to a gradient."""
    size = vector_size(crew.partial)
    for n in range(0, count, size):
        sums = sums_of(crew.partial, (row + n) * size)
        if not fresh:
            sums = sums + vector(target, at + n)
        store_some(target, at + n, sums, count - n)


@_inline
def give_layer(net, crew, gradients, layer, o, start, stop, zeros, p, fresh):
    """The way back through output o for inputs start … stop - 1; wide, the first layer's sums are made now."""
    compact()
    rows = rows_of(net, crew, layer, o, p, start)
    at_once = crew.wide and layer == 0
    give_inputs(net, crew, gradients, layer, o, start, stop, zeros, p, rows, fresh or crew.wide)
    if not at_once:
        return
    inputs, first = place(net, 0, INPUTS), crew.first_pair[p]
    a, m = first + place(net, 0, ADDITIVE) + o * inputs, first + place(net, 0, MULTIPLICATIVE) + o * inputs
    gather(crew, crew.d_weights, a + start, rows[0] + start, stop - start, fresh)
    if net.gated and a != m:
        gather(crew, crew.d_weights, m + start, rows[1] + start, stop - start, fresh)
    if net.gated and net.gate:
        at = crew.first_gate[p] + gate_start(net, layer, o) + start
        gather(crew, crew.d_gates, at, rows[2] + start, stop - start, fresh and (net.gate == 2 or o == 0))


@_inline
def give_gate(net, crew, dg, layer, o, p, fresh):
    """Leave the partial sums of a constant gate's gradient, from dL/dg."""
    if net.gated and not net.gate:
        gate = crew.gates[crew.first_gate[p] + (place(net, layer, GATE) + o) * crew.stride]
        row = gate_row(net, crew, p) + (place(net, layer, GATE) + o) * crew.stride
        put(crew, row, fold_product(dg, one(dg)) * (gate * (1 - gate)), fresh or crew.wide)


@_inline
def sensitivity(net, crew, m, a, g, z, layer, o, p):
    """Σ_i (∂y/∂h_i)² · Σ_i h_i² / I over the inputs of output o; see `inalu.layers.losses.sampson_loss`."""
    scratch, weights, stride = crew.scratch, crew.weights, crew.stride
    size, first, inputs = 4 * vector_size(scratch), crew.first_pair[p], place(net, layer, INPUTS)
    x = inputs_at(net, layer, X, p)
    to_a = first + (place(net, layer, ADDITIVE) + o * inputs) * stride
    to_m = first + (place(net, layer, MULTIPLICATIVE) + o * inputs) * stride
    to_g = crew.first_gate[p] + gate_start(net, layer, o) * stride
    slopes = squares = block_of(scratch, 0.0)
    share = where(z > net.omega, 0.0, (1.0 - g) * m) if net.gated else slopes
    turn = (a - m) * (g * (1.0 - g)) if net.gated and net.gate else slopes
    for i in range(inputs):
        value = block(scratch, x + i * size)
        squares = fma(value, value, squares)
        if not net.gated:
            slope = block_of(scratch, weights[to_a + i * stride])
        else:
            through = share * weights[to_m + i * stride]
            if net.bounded:
                through = where(absolute(value) >= net.epsilon, through / value, 0.0)
            else:
                through = through / copysign(absolute(value) + net.epsilon, value)
                through = where(value == 0.0, 0.0, through)
            slope = fma(g, weights[to_a + i * stride], through)
            if net.gate:
                slope = fma(turn, crew.gates[to_g + i * stride], slope)
        slopes = fma(slope, slope, slopes)
    return slopes * squares * (1.0 / inputs)


@_inline
def path_losses(net, sums, a, g, y, weight, scale):
    """Row losses, gradients and dL/dg of `inalu.layers.losses.paths_loss`."""
    to_a = a - y
    u_a = weight * to_a * to_a
    of_a, slope_a = log(u_a + 1.0), weight * to_a / (u_a + 1.0) * scale
    if not net.gated:
        return of_a, (slope_a, slope_a, slope_a, slope_a), slope_a
    size = absolute(y)
    weight_m = weight * y * y
    to_z = sums[1] - log(where(size < net.epsilon, net.epsilon, size))
    u_m = weight_m * to_z * to_z
    of_m, slope_z = log(u_m + 1.0), weight_m * to_z / (u_m + 1.0) * scale
    dg = (of_a - of_m) * (scale * 0.5)
    gradients = g * slope_a, (1.0 - g) * slope_z, of_a * 0.0, dg * (g * (1.0 - g))
    return fma(g, of_a, (1.0 - g) * of_m), gradients, dg


@_inline
def last_layer(net, crew, zeros, p, y_at, weight_at, scale, fresh):
    """Forward, loss and back through the last layer, one output after the other, in registers."""
    compact()
    layer, size = net.depth - 1, 4 * vector_size(crew.scratch)
    inputs, outputs = place(net, layer, INPUTS), place(net, layer, OUTPUTS)
    loss = vector_of(crew.scratch, 0.0)
    part = SLAB if crew.wide and layer == 0 else inputs
    zeros = has_zeros(crew, layer, p, zeros)
    for o in range(outputs):
        sums = no_sums(crew.scratch)
        for start in range(0, inputs, part):
            sums = add_inputs(net, crew, sums, layer, o, start, min(start + part, inputs), zeros, p)
        y, m, a, g = combine(net, crew, sums, layer, o, p)
        if crew.keeps_outputs:
            store(crew.outputs, y_at + o * size, y)
        target = block(crew.y, y_at + o * size)
        weight = block(crew.weight, weight_at + (o * size if crew.scaled else 0))
        if net.loss == PATHS:
            each, gradients, dg = path_losses(net, sums, a, g, target, weight, scale)
            loss = loss + fold_product(each, one(each))
        else:
            error = y - target
            if net.loss == SAMPSON:
                slopes = sensitivity(net, crew, m, a, g, sums[1], layer, o, p)
                weight = weight / fma(weight, slopes, one(weight))
            weighted = error * weight
            loss = loss + fold_product(error, weighted)
            dy = weighted * scale
            gradients, dg = split_gradient(net, dy, m, a, g, sums[1]), dy * (a - m)
        give_gate(net, crew, dg, layer, o, p, fresh)
        for start in range(0, inputs, part):
            stop = min(start + part, inputs)
            give_layer(net, crew, gradients, layer, o, start, stop, zeros, p, fresh)
    at = p * vector_size(crew.scratch)
    store(crew.loss_partial, at, loss if fresh else loss + vector(crew.loss_partial, at))


@_inline
def save(net, crew, layer, o, p, values):
    size = 4 * vector_size(crew.scratch)
    at = place(net, layer, SAVED) + p * place(net, layer, SAVED_STEP) + o * 4 * size
    for n in range(4):
        store(crew.scratch, at + n * size, values[n])


@_inline
def saved(net, crew, layer, o, p):
    size = 4 * vector_size(crew.scratch)
    at = place(net, layer, SAVED) + p * place(net, layer, SAVED_STEP) + o * 4 * size
    scratch = crew.scratch
    return (
        block(scratch, at), block(scratch, at + size), block(scratch, at + 2 * size),
        block(scratch, at + 3 * size),
    )  # fmt: skip


@_inline
def hidden_output(net, crew, sums, layer, o, p):
    """Make hidden output o the next layer's input; save what the way back needs, and whether there are zeros."""
    y, m, a, g = combine(net, crew, sums, layer, o, p)
    size = 4 * vector_size(crew.scratch)
    store(crew.scratch, inputs_at(net, layer + 1, X, p) + o * size, y)
    if net.gated:
        store(crew.scratch, inputs_at(net, layer + 1, LOG_X, p) + o * size, log_size(net, y))
    save(net, crew, layer, o, p, (m, a, g, sums[1]))
    zeros, bit = crew.hidden_zeros, 1 << (layer + 1)
    found = (zeros[p] & ~bit) if o == 0 else zeros[p]
    zeros[p] = found | bit if anywhere(y == 0.0) else found


@_inline
def has_zeros(crew, layer, p, given):
    """Whether member p's inputs of a layer hold a zero in this block; ``given`` for the first layer."""
    return given if layer == 0 else (crew.hidden_zeros[p] >> layer) & 1 == 1


@_inline
def hidden_back(net, crew, layer, o, p, fresh):
    """Put in place of what is saved the gradients at output o, from those of the next layer's inputs."""
    dy = input_gradient(net, crew, layer + 1, o, p)
    m, a, g, z = saved(net, crew, layer, o, p)
    give_gate(net, crew, dy * (a - m), layer, o, p, fresh)
    save(net, crew, layer, o, p, split_gradient(net, dy, m, a, g, z))


@_inline
def hidden_forward(net, crew, layer, zeros, begin, end):
    """All outputs of a hidden layer for members begin … end - 1, which walk each slab of inputs together."""
    inputs, outputs = place(net, layer, INPUTS), place(net, layer, OUTPUTS)
    for start in range(0, inputs, SLAB):
        stop = min(start + SLAB, inputs)
        for p in range(begin, end):
            hit = has_zeros(crew, layer, p, zeros)
            for o in range(outputs):
                sums = no_sums(crew.scratch) if start == 0 else saved(net, crew, layer, o, p)
                sums = add_inputs(net, crew, sums, layer, o, start, stop, hit, p)
                if stop < inputs:
                    save(net, crew, layer, o, p, sums)
                else:
                    hidden_output(net, crew, sums, layer, o, p)


@_inline
def hidden_backward(net, crew, layer, zeros, begin, end, fresh):
    """The way back through a hidden layer for members begin … end - 1, slab by slab."""
    inputs, outputs = place(net, layer, INPUTS), place(net, layer, OUTPUTS)
    for p in range(begin, end):
        for o in range(outputs):
            hidden_back(net, crew, layer, o, p, fresh)
    for start in range(0, inputs, SLAB):
        stop = min(start + SLAB, inputs)
        for p in range(begin, end):
            hit = has_zeros(crew, layer, p, zeros)
            for o in range(outputs):
                gradients = saved(net, crew, layer, o, p)
                give_layer(net, crew, gradients, layer, o, start, stop, hit, p, fresh)


@_inline
def gather_members(net, crew, begin, end, fresh):
    """Make the sums of what lies outside the first layer's pairs."""
    count, skip = net.pairs - net.pairs_0, net.gates_0 if net.gate else 0
    for p in range(begin, end):
        gather(crew, crew.d_weights, crew.first_pair[p] + net.pairs_0, own_rows(net, p), count, fresh)
        row, at = gate_row(net, crew, p) + skip, crew.first_gate[p] + skip
        gather(crew, crew.d_gates, at, row, net.gates - skip, fresh)


@_inline
def clear(memory, vectors):
    for n in range(vectors):
        store(memory, n * vector_size(memory), vector_of(memory, 0.0))


@_inline
def find_gradients(net, crew, number):
    """The gradients of W and the gates on one mini-batch, and the loss, for all members.

    Block by block of the batch's rows, and in each data set by data set, so that members share what is read.
    """
    compact()
    length, size = vector_size(crew.partial), 4 * vector_size(crew.scratch)
    inputs, outputs = place(net, 0, INPUTS), place(net, net.depth - 1, OUTPUTS)
    blocks = -(-crew.rows // crew.batch) * crew.row_blocks
    rows = min(crew.batch, crew.rows - number * crew.batch)
    if net.sign == 2:
        clear(crew.partial, crew.blocks * (net.pairs + net.gates) * length)
        clear(crew.loss_partial, crew.columns)
    for r in range(crew.row_blocks):
        # With the published sign a row of partial sums gathers from several places, and starts at zero.
        fresh = r == 0 and net.sign != 2
        for d in range(crew.data_sets):
            n, begin, end = number * crew.row_blocks + r, crew.sets[d], crew.sets[d + 1]
            zeros = crew.zeros[d * blocks + n]
            read_rows(net, crew, (d * blocks + n) * inputs * size)
            for layer in range(net.depth - 1):
                hidden_forward(net, crew, layer, zeros, begin, end)
            for p in range(begin, end):
                y_at = (crew.target[p] * blocks + n) * outputs * size
                weight_at = ((crew.row_blocks if rows < crew.batch else 0) + r) * size
                if crew.scaled:
                    weight_at = y_at
                last_layer(net, crew, zeros, p, y_at, weight_at, 2.0 / (rows * outputs), fresh)
            for layer in range(net.depth - 2, -1, -1):
                hidden_backward(net, crew, layer, zeros, begin, end, fresh)
            if crew.wide:
                gather_members(net, crew, begin, end, fresh)
    if not crew.wide:
        for n in range(crew.blocks * net.pairs):
            store(crew.d_weights, n * length, sums_of(crew.partial, n * length * length))
        start = crew.blocks * net.pairs
        for n in range(crew.blocks * net.gates):
            store(crew.d_gates, n * length, sums_of(crew.partial, (start + n) * length * length))
    sum_losses(net, crew, rows)


@_inline
def sum_losses(net, crew, rows):
    size = vector_size(crew.partial)
    share = 1.0 / (rows * place(net, net.depth - 1, OUTPUTS))
    for n in range(0, crew.members, size):
        store(crew.loss, n, sums_of(crew.loss_partial, n * size) * share)


# 5. One optimizer step


@_inline
def pulled(rules, gradient, parameter, pull, acting):
    """Add the regulariser's gradient in the lanes where it acts."""
    reach = (absolute(parameter) < rules.pull_reach) & (parameter != 0.0) & (acting > 0.0)
    return where(reach, gradient - copysign(pull, parameter), gradient)


@_inline
def constants_of(memory, rules):
    """The optimizer's constants in every lane: clip, 1 - beta1, 1 - beta2, epsilon, floor. Made before a loop."""
    return (
        vector_of(memory, rules.clip), vector_of(memory, 1.0 - rules.beta1), vector_of(memory, 1.0 - rules.beta2),
        vector_of(memory, rules.epsilon), vector_of(memory, rules.floor),
    )  # fmt: skip


@_inline
def clipped(clip, gradient):
    """Cut to [-clip, clip]; NaN stays."""
    cut = where(gradient > clip, clip, gradient)
    return where(cut < clip * -1.0, clip * -1.0, cut)


@_inline
def floored(floor, moment):
    """Zero in place of a subnormal number, which the next steps would take several times as long with."""
    return where(absolute(moment) < floor, 0.0, moment)


@_inline
def move(rules, constants, gradient, parameter, first, second, at, rate, bias, keep):
    """Step L parameters from index ``at`` on, in place, along a gradient, but where ``keep``."""
    if rules.probe:
        store(first, at, gradient)
        return
    clip, share1, share2, epsilon, floor = constants
    g = clipped(clip, gradient)
    old, moment = vector(parameter, at), vector(second, at)
    v = fma(g * g - moment, share2, moment)
    store(second, at, where(keep, moment, floored(floor, v)))
    if rules.adam:
        moment = vector(first, at)
        m = fma(g - moment, share1, moment)
        store(first, at, where(keep, moment, floored(floor, m)))
        step = m / fma(sqrt(v), bias, epsilon)
    elif rules.tensorflow:
        step = g / sqrt(v + epsilon)
    else:
        step = g / (sqrt(v) + epsilon)
    store(parameter, at, where(keep, old, old - rate * step))


@_inline
def make_weights(net, crew, b):
    """What the layers read of block b's pairs: W, and for the sign product 1 - 2|W| with its slope."""
    size = vector_size(crew.w_hat)
    for v in range(crew.pair_vectors):
        at = (b * crew.pair_vectors + v) * size
        t, s = tanh_sigmoid(vector(crew.w_hat, at), vector(crew.m_hat, at))
        w = t * s
        store(crew.tanh, at, t)
        store(crew.sigma, at, s)
        store(crew.weights, at, w)
        if net.gated and net.sign:
            factor = fma(absolute(w), -2.0, one(w))
            # A factor of zero would take the product with it, where its slope needs the other factors. 2**-60
            # is nothing beside 1, and product · slope is right.
            factor = where(factor == 0.0, 8.673617379884035e-19, factor)
            store(crew.factor, at, factor)
            slope = copysign(one(w) * 2.0, w) / factor * -1.0
            store(crew.factor_slope, at, where(w == 0.0, 0.0, slope))


@_inline
def make_gates(net, crew, b):
    """What the layers read of block b's gate parameters."""
    size = vector_size(crew.w_hat)
    for v in range(crew.gate_vectors):
        at = (b * crew.gate_vectors + v) * size
        g_hat = vector(crew.g_hat, at)
        store(crew.gates, at, g_hat if net.gate else sigmoid(g_hat))


@_inline
def make_block(net, crew, b):
    """What the layers read of one block of state."""
    make_weights(net, crew, b)
    make_gates(net, crew, b)


@_inline
def move_weights(net, crew, rules, b, pulls, alone):
    """One step of the weights of block b; ``alone``: of the regulariser's own, where it acts."""
    compact()
    size = vector_size(crew.w_hat)
    rate, bias = vector(crew.weight_rate, b * size), vector(crew.weight_bias, b * size)
    acting = vector(crew.acting, b * size)
    keep = acting < (0.5 if alone else -1.0)
    constants = constants_of(crew.w_hat, rules)
    for v in range(crew.pair_vectors):
        at = (b * crew.pair_vectors + v) * size
        t, s = vector(crew.tanh, at), vector(crew.sigma, at)
        dw = vector_of(crew.w_hat, 0.0) if alone else vector(crew.d_weights, at)
        to_w = dw * s * fma(t * -1.0, t, one(t))
        to_m = dw * t * fma(s * -1.0, s, s)
        if pulls:
            pull = vector(crew.pair_pull, v * size)
            to_w = pulled(rules, to_w, vector(crew.w_hat, at), pull, acting)
            to_m = pulled(rules, to_m, vector(crew.m_hat, at), pull, acting)
        move(rules, constants, to_w, crew.w_hat, crew.w_first, crew.w_second, at, rate, bias, keep)
        move(rules, constants, to_m, crew.m_hat, crew.m_first, crew.m_second, at, rate, bias, keep)
    # In a loop of its own: chains of dependent operations half as long fill the time that they wait better.
    make_weights(net, crew, b)


@_inline
def move_gates(net, crew, rules, b, pulls, alone):
    """One step of the gates of block b; ``alone``: of the regulariser's own, where it acts."""
    size = vector_size(crew.w_hat)
    rate, bias = vector(crew.gate_rate, b * size), vector(crew.gate_bias, b * size)
    acting = vector(crew.acting, b * size)
    keep = acting < (0.5 if alone else -1.0)
    constants = constants_of(crew.w_hat, rules)
    for v in range(crew.gate_vectors):
        at = (b * crew.gate_vectors + v) * size
        gradient = vector_of(crew.g_hat, 0.0) if alone else vector(crew.d_gates, at)
        if pulls:
            pull = vector(crew.gate_pull, v * size)
            gradient = pulled(rules, gradient, vector(crew.g_hat, at), pull, acting)
        move(rules, constants, gradient, crew.g_hat, crew.g_first, crew.g_second, at, rate, bias, keep)
    make_gates(net, crew, b)


@_inline
def set_lane(crew, values, p, value):
    """Set member p's entry of an array with a number a lane of each block."""
    if crew.wide:
        store(values, p * vector_size(values), vector_of(values, value))
    else:
        values[p] = value


@_inline
def count_step(crew, steps, p, rate, rates, biases):
    """Count an optimizer step of member p and set its learning rate."""
    crew.clock[steps] += 1
    n = min(crew.clock[steps], crew.corrections) - 1
    set_lane(crew, rates, p, rate * crew.correction1[n])
    set_lane(crew, biases, p, crew.correction2[n])


@_inline
def learning_rate(rules, step):
    """The learning rate of a data step, by `inalu.engine.recipe.Decay`."""
    progress = step / (rules.epochs * rules.batches)
    if not rules.decays or progress <= rules.decay_hold:
        return rules.rate
    u = (progress - rules.decay_hold) / (1.0 - rules.decay_hold)
    return rules.rate * (rules.decay_final + (1.0 - rules.decay_final) * (1.0 + math.cos(math.pi * u)) / 2.0)


# 6. The restart rule


@_inline
def looks(rules, epoch):
    """Whether the restart rule looks at the history in an epoch."""
    return rules.look_every > 0 and epoch > 0 and epoch % rules.look_every == 0


@_inline
def look(net, crew, rules, p, step, epoch, number):
    """Start member p again where its history has not improved; see `inalu.engine.recipe.Reinitialization`."""
    seen, used = step - crew.clock[p * CLOCK + BORN], crew.clock[p * CLOCK + RESTARTS]
    if seen < max(rules.look_window, 2) or used + 1 == rules.starts:
        return
    length = seen if rules.look_all else rules.look_window
    if wants_restart(crew, rules, p, step - length, step - length + length // 2, step, number == 0):
        crew.restarts[p * rules.starts + used] = epoch
        crew.clock[p * CLOCK + RESTARTS] += 1
        crew.clock[p * CLOCK + BORN] = step
        crew.clock[p * CLOCK + FIRST_EPOCH] = epoch if number == 0 else epoch + 1
        restart(net, crew, rules, p, used + 1)


@_inline
def restart(net, crew, rules, p, n):
    """Give member p its n-th start."""
    moment = 1.0 if rules.tensorflow else 0.0
    start = (p * rules.starts + n) * (2 * net.pairs + net.gates)
    for j in range(net.pairs):
        at = crew.first_pair[p] + j * crew.stride
        crew.w_hat[at] = crew.starts[start + crew.w_index[j]]
        crew.m_hat[at] = crew.starts[start + crew.m_index[j]]
        if not rules.keep_optimizer:
            crew.w_first[at] = crew.m_first[at] = 0.0
            crew.w_second[at] = crew.m_second[at] = moment
    for j in range(net.gates):
        at = crew.first_gate[p] + j * crew.stride
        crew.g_hat[at] = crew.starts[start + crew.g_index[j]]
        if not rules.keep_optimizer:
            crew.g_first[at], crew.g_second[at] = 0.0, moment
    if not rules.keep_optimizer:
        crew.clock[p * CLOCK + WEIGHT_STEPS] = crew.clock[p * CLOCK + GATE_STEPS] = 0
    make_block(net, crew, p if crew.wide else p // vector_size(crew.w_hat))


@_inline
def past(crew, p, step):
    """Member p's mini-batch loss in a step."""
    return np.float64(crew.history[(step % crew.history_steps) * crew.columns + p])


@_inline
def wants_restart(crew, rules, p, low, middle, high, exact):
    """Compare the mean loss of steps low … middle with that of middle … high.

    When a look follows a look, their sums are only moved on. A number that leaves a sum and was most of it
    would leave its rounding error behind: then they are made anew. Losses are not negative, so the second
    half's sum at the last look and what came since bound it from above: where that is too low for a restart,
    as it is once a member is solved, no sum is needed.
    """
    if not exact and crew.marks[3 * p + 2] == high - 1:
        crew.moments[5 * p + 4] += past(crew, p, high - 1)
        if crew.moments[5 * p + 4] <= rules.look_above * (high - middle):
            # The sums are not moved on, so a later look that needs them makes them anew.
            crew.marks[3 * p], crew.marks[3 * p + 2] = high, high
            return False
    if not exact:
        exact = not move_sums(crew, p, low, middle, high)
    if exact:
        make_sums(crew, p, low, middle, high)
    crew.marks[3 * p], crew.marks[3 * p + 1], crew.marks[3 * p + 2] = low, middle, high
    first, second, square, centre = moments_of(crew, p)
    if exact:
        crew.moments[5 * p + 4] = centre * (high - middle) + second
    first, second = first / (middle - low), second / (high - middle)
    spread = math.sqrt(max(square / (high - middle) - second * second, 0.0))
    return centre + second > rules.look_above and first <= second + rules.look_tolerance * spread


@_inline
def moments_of(crew, p):
    at = 5 * p
    return crew.moments[at], crew.moments[at + 1], crew.moments[at + 2], crew.moments[at + 3]


@_inline
def set_moments(crew, p, first, second, square, centre):
    at, sums = 5 * p, crew.moments
    sums[at], sums[at + 1], sums[at + 2], sums[at + 3] = first, second, square, centre


@_inline
def make_sums(crew, p, low, middle, high):
    """The sums over both halves, about the mean of the second."""
    centre = 0.0
    for step in range(middle, high):
        centre += past(crew, p, step)
    centre /= high - middle
    first = second = square = 0.0
    for step in range(low, middle):
        first += past(crew, p, step) - centre
    for step in range(middle, high):
        value = past(crew, p, step) - centre
        second += value
        square += value * value
    set_moments(crew, p, first, second, square, centre)


@_inline
def move_sums(crew, p, low, middle, high):
    """Move the sums on to new halves; False when they must be made anew."""
    if crew.marks[3 * p + 2] != high - 1 or crew.marks[3 * p] > low:
        return False
    first, second, square, centre = moments_of(crew, p)
    value = past(crew, p, high - 1) - centre
    second += value
    square += value * value
    for step in range(crew.marks[3 * p + 1], middle):
        value = past(crew, p, step) - centre
        first += value
        second -= value
        square -= value * value
        if not value * value < 1e4 * square:
            return False
    for step in range(crew.marks[3 * p], low):
        value = past(crew, p, step) - centre
        first -= value
        if not value * value < 1e4 * square:
            return False
    set_moments(crew, p, first, second, square, centre)
    return True


# 7. The kernel


@_inline
def regularize(crew, rules, epoch):
    """Mark the members where the regulariser acts in this step; return whether there are any."""
    found = False
    for p in range(crew.members):
        hit = epoch >= rules.pull_after and crew.loss[p] < rules.pull_below
        found |= hit
        set_lane(crew, crew.acting, p, 1.0 if hit else 0.0)
    return found


@_inline
def acts(crew, p):
    """Whether the regulariser acts on member p in this step."""
    return crew.acting[p * vector_size(crew.acting) if crew.wide else p] > 0


@_inline
def remember(crew, step, again):
    """Write the losses of a step into the history; again: those after the regulariser's own steps."""
    row = step % crew.history_steps
    for p in range(crew.members):
        if not again or acts(crew, p):
            crew.history[row * crew.columns + p] = crew.loss[p]


@_inline
def move_all(net, crew, rules, step, pulls):
    """The optimizer's step, and then the regulariser's own where the recipe has them apart."""
    rate = learning_rate(rules, step)
    turn = rules.period == 0 or step % rules.period < rules.turn
    for alone in range(2 if pulls and rules.pull_apart else 1):
        own = alone == 1
        weights, gates = turn or own, rules.period == 0 or not turn or own
        for p in range(crew.members):
            if own and not acts(crew, p):
                continue
            if weights:
                count_step(crew, p * CLOCK + WEIGHT_STEPS, p, rate, crew.weight_rate, crew.weight_bias)
            if gates:
                count_step(crew, p * CLOCK + GATE_STEPS, p, rate, crew.gate_rate, crew.gate_bias)
        now = pulls and rules.pull_apart == own
        for b in range(crew.blocks):
            if weights:
                move_weights(net, crew, rules, b, now, own)
            if gates:
                move_gates(net, crew, rules, b, now, own)


@_inline
def end_epoch(net, crew, rules, epoch):
    """Keep the mean losses; a member with a NaN among its parameters has ended. Return whether some go on."""
    going = False
    for p in range(crew.members):
        if crew.alive[p]:
            crew.epoch_loss[p * rules.epochs + epoch] = crew.epoch_sum[p] / rules.batches
            crew.epoch_sum[p] = 0.0
            crew.clock[p * CLOCK + STEPS] += rules.batches
            for j in range(net.pairs):
                at = crew.first_pair[p] + j * crew.stride
                if math.isnan(crew.w_hat[at]) or math.isnan(crew.m_hat[at]):
                    crew.alive[p] = False
            for j in range(net.gates):
                if math.isnan(crew.g_hat[crew.first_gate[p] + j * crew.stride]):
                    crew.alive[p] = False
        going |= crew.alive[p]
    return going


def _kept(function):
    """Compile when first called, and keep the machine code on the disk where there is a place for it."""
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        # Neither the package's folder nor the user's cache can be written: each process compiles for itself.
        return njit(nogil=True, error_model="numpy")(function)


@_kept
def train(net, crew, rules, start, stop):
    """Make the crew's data steps ``start`` … ``stop`` - 1, in place; return whether a member can go on."""
    compact()
    for step in range(start, stop):
        epoch, number = step // rules.batches, step % rules.batches
        if step == 0:
            for b in range(crew.blocks):
                make_block(net, crew, b)
        if (number == 0 or rules.look_each) and looks(rules, epoch):
            for p in range(crew.members):
                if crew.alive[p]:
                    look(net, crew, rules, p, step, epoch, number)
        for again in range(2):
            find_gradients(net, crew, number)
            remember(crew, step, again == 1)
            if again:
                break
            for p in range(crew.members):
                crew.epoch_sum[p] += crew.loss[p]
            pulls = rules.pull_after >= 0 and regularize(crew, rules, epoch)
            move_all(net, crew, rules, step, pulls)
            if not (pulls and rules.pull_apart):
                break
        if number == rules.batches - 1 and not end_epoch(net, crew, rules, epoch):
            return False
    return True
