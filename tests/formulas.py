# SPDX-License-Identifier: Apache-2.0
# formulas.py: prints the vectors that tests/data/formulas.txt keeps, whose form vectors.h has: what
# formulas (weft/elementwise.h) come to by other implementations than weft's. pycparser reads them
# as C; NumPy has conversions, promotion by the header's rule, whole numbers and what is rounded
# once; mpmath has other functions, to 300 bits. How far a device may be off is OpenCL's promise,
# with some for each rounding between. Wants the three packages; the tests themselves do not.
import itertools
import math
import random

import mpmath as m
import numpy as np
from pycparser import c_ast, c_parser

m.mp.prec = 300
np.seterr(all='ignore')
INF, NAN = math.inf, math.nan

# ---- types: bf16 numbers are kept as f32

REALS = {'f16': np.float16, 'bf16': np.float32, 'f32': np.float32, 'f64': np.float64}
WHOLES = {'i32': np.int32, 'i64': np.int64, 'u8': np.uint8}
TYPES = {**REALS, **WHOLES}


# To the nearest of as many digits, of a real or a whole number.
def short(x, digits, least, end):
    if x == 0 or not math.isfinite(x):
        return float(x)
    step = max(math.frexp(x)[1] - digits, least)
    if isinstance(x, int) and step > 0: # more digits than floats have
        half, rest = 1 << step - 1, abs(x) & (1 << step) - 1
        up = rest > half or (rest == half and abs(x) >> step & 1)
        rounded = ((abs(x) >> step) + up) << step
    else:
        rounded = abs(math.ldexp(round(math.ldexp(x, -step)), step))
    return math.copysign(rounded if rounded < end else INF, x)


def whole_of(x, dtype):
    ends = np.iinfo(TYPES[dtype])
    if not math.isfinite(x):
        return 0 if math.isnan(x) else int(ends.max if x > 0 else ends.min)
    return min(max(int(x), int(ends.min)), int(ends.max))


# Rounds once, or takes the lower bits; real numbers end at the limits of whole ones.
def convert(x, dtype):
    if x.dtype.kind == 'f' and dtype in WHOLES:
        return np.array([whole_of(float(y), dtype) for y in x], TYPES[dtype])
    if dtype == 'bf16':
        return np.array([short(y.item(), 8, -133, 2.0**128) for y in x], np.float32)
    if dtype == 'f16': # which NumPy makes of whole numbers by way of f32
        return np.array([short(y.item(), 11, -24, 65520) for y in x], np.float16)
    return x.astype(TYPES[dtype])


# ---- functions: of arrays in arithmetic where NumPy rounds once at most

def truncated(a, b):
    if a.dtype.kind == 'f':
        return a / b
    down = a // b
    return down + ((down * b != a) & (b != 0) & ((a < 0) != (b < 0)))


# Of zeros by their signs: `first` is the sign of the one that is taken.
def of_zeros(f, first):
    return lambda a, b: np.where((a == 0) & (b == 0), np.where(np.signbit(a) == first, a, b),
                                 f(a, b))


def away(x):
    cut = np.trunc(x)
    return cut + np.copysign(np.array(abs(x - cut) >= 0.5, x.dtype), x)


def count(x):
    return x & (8 * x.dtype.itemsize - 1)


def clamp(x, low, high):
    raised = np.where(x < low, low, x)
    return np.where(raised > high, high, raised)


def fused(a, b, c):
    digits = 24 if a.dtype == np.float32 else 53
    exact = [m.mpf(float(x)) * float(y) + float(z) for x, y, z in zip(a, b, c)]
    with m.workprec(digits):
        return np.array([float(+x) for x in exact]).astype(a.dtype)


def of_numpy(words):
    return {word: getattr(np, word) for word in words.split()}


def compared(f):
    return lambda *x: f(*x).astype(x[0].dtype)


EXACT = {
    **of_numpy('add subtract multiply remainder fmod abs square floor ceil rint trunc copysign'),
    **{word: compared(f) for word, f in of_numpy(
        'equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not '
        'isnan isinf isfinite').items()},
    'fabs': np.abs, 'negate': np.negative, 'copy': np.positive, 'round': away, 'fma': fused,
    'sign': lambda x: np.where(x == 0, x, np.sign(x)),
    'min': of_zeros(np.minimum, True), 'max': of_zeros(np.maximum, False),
    'fmin': of_zeros(np.fmin, True), 'fmax': of_zeros(np.fmax, False),
    'clamp': clamp,
    'where': lambda t, a, b: np.where(t != 0, a, b),
    'select': lambda b, a, t: np.where(t != 0, a, b),
    'relu': lambda x: np.where(x < 0, 0, x),
    'bitwise_and': np.bitwise_and, 'bitwise_or': np.bitwise_or, 'bitwise_xor': np.bitwise_xor,
    'bitwise_not': np.invert,
    'left_shift': lambda a, b: a << count(b), 'right_shift': lambda a, b: a >> count(b),
    'abs_backward': lambda dy, x: np.where(x > 0, dy, np.where(x < 0, -dy, x)),
    'relu_backward': lambda dy, x: np.where(x <= 0, 0, dy),
    'clamp_backward': lambda dy, x, low, high: np.where((x > low) & (x < high), dy, 0),
}
# The same of real numbers to within some ulps, and of whole ones without error.
NEAR = {
    'quotient': (truncated, 3),
    'divide': (np.divide, 3),
    'floor_divide': (np.floor_divide, 3),
    'square_backward': (lambda dy, x: dy * (x + x), 1),
    'reciprocal': (lambda x: 1 / x, 3),
    'leaky_relu': (lambda x, slope: np.where(x < 0, slope * x, x), 0),
}

# ---- functions of numbers of 300 bits

def sigmoid(x):
    return 1 / (1 + m.exp(-x))


def normal(x):
    return m.erfc(-x / m.sqrt(2)) / 2


def weight(x):
    return 2 * m.sqrt(2 / m.pi) * (x + m.mpf('0.044715') * x**3)


# (function, ulps)
MANY_DIGITS = {
    **{word: (getattr(m, word), ulps) for ulps, words in (
        (4, 'sqrt exp expm1 log log10'), (5, 'sin cos asin acos sinh cosh asinh acosh hypot'),
        (6, 'tan atan tanh atanh'), (7, 'atan2'), (17, 'erf erfc')) for word in words.split()},
    'rsqrt': (lambda x: 1 / m.sqrt(x), 3),
    'cbrt': (lambda x: m.sign(x) * m.cbrt(abs(x)), 3),
    'exp2': (lambda x: m.mpf(2)**x, 4), 'exp10': (lambda x: m.mpf(10)**x, 4),
    'log2': (lambda x: m.log(x, 2), 4), 'log1p': (lambda x: m.log(1 + x), 3),
    'pow': (lambda a, b: a**b, 17), 'power': (lambda a, b: a**b, 17),
    'sigmoid': (sigmoid, 9),
    'softplus': (lambda x: m.log(1 + m.exp(x)), 9),
    'silu': (lambda x: x * sigmoid(x), 9),
    'gelu': (lambda x: x * normal(x), 25),
    'gelu_tanh': (lambda x: x * sigmoid(weight(x)), 49),
    'elu': (lambda x, alpha: alpha * m.expm1(x) if x < 0 else x, 5),
    'mad': (lambda a, b, c: a * b + c, 1), 'mix': (lambda a, b, t: a + (b - a) * t, 2),
}
# Whose ulps are of a larger term.
SIZES = {
    'mad': lambda a, b, c: abs(a * b) + abs(c),
    'mix': lambda a, b, t: 2 * abs(a) + (abs(a) + abs(b)) * abs(t),
    'silu_backward': lambda dy, x: 2 * abs(dy),
    'gelu_backward': lambda dy, x: 2 * abs(dy),
    'gelu_tanh_backward': lambda dy, x: 4 * abs(dy),
}


def bell(x):
    return sigmoid(x) * sigmoid(-x)


# (derivative, ulps)
SLOPES = {
    'sqrt': (lambda x: 1 / (2 * m.sqrt(x)), 7),
    'exp': (m.exp, 5),
    'log': (lambda x: 1 / x, 3),
    'tanh': (lambda x: 1 / m.cosh(x)**2, 11),
    'erf': (lambda x: 2 / m.sqrt(m.pi) * m.exp(-x * x), 9),
    'sigmoid': (bell, 9),
    'silu': (lambda x: sigmoid(x) + x * bell(x), 9),
    'gelu': (lambda x: normal(x) + x * m.exp(-x * x / 2) / m.sqrt(2 * m.pi), 25),
    'gelu_tanh': (lambda x: sigmoid(weight(x)) + x * bell(weight(x)) * 2 * m.sqrt(2 / m.pi) *
                  (1 + 3 * m.mpf('0.044715') * x * x), 49),
}


def times(slope):
    return lambda dy, x: dy * slope(x)


for word, (slope_of, slope_ulps) in SLOPES.items():
    MANY_DIGITS[word + '_backward'] = (times(slope_of), slope_ulps)


# Of Python's floats. C's own where an operand is 0 or infinite, and C has it; or else infinity is
# a very large number, and so is what it gives.
def precise(name, f, x):
    if any(y == 0 or not math.isfinite(y) for y in x) and hasattr(math, name):
        try:
            return getattr(math, name)(*x)
        except ValueError: # at a pole, and outside
            return -INF if name.startswith('log') and max(x) == 0 else INF if name == 'pow' else NAN
    if name != 'elu' and any(map(math.isnan, x)):
        return NAN
    try:
        y = f(*(m.mpf(math.copysign(1e150, z)) if math.isinf(z) else m.mpf(z) for z in x))
    except ZeroDivisionError:
        return INF
    if isinstance(y, m.mpc):
        return NAN
    ends = (1e50, 1e-50) if any(map(math.isinf, x)) else (m.mpf(2)**1024, 0)
    return math.copysign(INF, y) if abs(y) >= ends[0] else 0.0 if abs(y) < ends[1] else float(y)


def call_many_digits(name, arguments):
    f = MANY_DIGITS[name][0]
    name = {'power': 'pow'}.get(name, name)
    return np.array([precise(name, f, tuple(map(float, x))) for x in zip(*arguments)]).astype(
        arguments[0].dtype)


# ---- formulas

OPERATORS = dict(zip(
    '|| && | ^ & == != < <= > >= << >> + - * / %'.split(),
    'logical_or logical_and bitwise_or bitwise_xor bitwise_and equal not_equal less less_equal '
    'greater greater_equal left_shift right_shift add subtract multiply quotient fmod'.split()))
SIGNS = {'-': 'negate', '!': 'logical_not', '~': 'bitwise_not'}
CONSTANTS = {
    'M_E': m.e, 'M_LOG2E': 1 / m.log(2), 'M_LOG10E': 1 / m.log(10), 'M_LN2': m.log(2),
    'M_LN10': m.log(10), 'M_PI': m.pi, 'M_PI_2': m.pi / 2, 'M_PI_4': m.pi / 4, 'M_1_PI': 1 / m.pi,
    'M_2_PI': 2 / m.pi, 'M_2_SQRTPI': 2 / m.sqrt(m.pi), 'M_SQRT2': m.sqrt(2),
    'M_SQRT1_2': m.sqrt(m.mpf(1) / 2), 'INFINITY': INF, 'NAN': NAN,
}
OF_REALS = [*MANY_DIGITS, *('divide reciprocal leaky_relu floor ceil round rint trunc copysign fma '
                            'isnan isinf isfinite').split()]
FUNCTIONS = {**EXACT, **NEAR, **MANY_DIGITS}


# As C reads it; the name of a function alone is that of all inputs.
def tree_of(text, inputs):
    if text.strip() in FUNCTIONS:
        text = '%s(%s)' % (text, ', '.join(inputs))
    return c_parser.CParser().parse('double y = %s;' % text).ext[0].init


def number_of(node):
    text = node.value.rstrip('uUlL' if node.type.endswith('int') else 'fFlL')
    if node.type.endswith('int'):
        return int(text, 0)
    return float.fromhex(text) if 'x' in text.lower() else float(text)


def is_real(node):
    name = node.name.name if isinstance(node, c_ast.FuncCall) else None
    return (isinstance(node, c_ast.Constant) and not node.type.endswith('int')
            or isinstance(node, c_ast.ID) and node.name.removesuffix('_F') in CONSTANTS
            or name in OF_REALS or any(is_real(child) for _, child in node.children()
                                       if name is None or child is not node.name))


# Numbers that i32 does not hold; a sign may make them fit.
def is_long(node):
    if isinstance(node, c_ast.UnaryOp) and node.op == '-' and isinstance(node.expr, c_ast.Constant):
        return number_of(node.expr) > 2**31
    if isinstance(node, c_ast.Constant):
        return number_of(node) > 2**31 - 1
    return any(is_long(child) for _, child in node.children())


# By the header's rule.
def arithmetic_of(trees, dtypes):
    if 'f64' in dtypes:
        return 'f64'
    if any(dtype in REALS for dtype in dtypes) or any(map(is_real, trees)):
        return 'f32'
    return 'i64' if 'i64' in dtypes or any(map(is_long, trees)) else 'i32'


def apply(name, arguments):
    if name in EXACT:
        return EXACT[name](*arguments)
    return NEAR[name][0](*arguments) if name in NEAR else call_many_digits(name, arguments)


def value_of(node, named, dtype):
    def of(*nodes):
        return [value_of(part, named, dtype) for part in nodes]
    like = TYPES[dtype]
    if isinstance(node, c_ast.ID):
        if node.name in named:
            return named[node.name]
        return np.array([float(CONSTANTS[node.name.removesuffix('_F')])]).astype(like)
    if isinstance(node, c_ast.Constant):
        number = number_of(node)
        return np.array([number], object if number > 2**63 - 1 else None).astype(like)
    if isinstance(node, c_ast.BinaryOp):
        return apply(OPERATORS[node.op], np.broadcast_arrays(*of(node.left, node.right)))
    if isinstance(node, c_ast.UnaryOp):
        return of(node.expr)[0] if node.op == '+' else apply(SIGNS[node.op], of(node.expr))
    if isinstance(node, c_ast.TernaryOp):
        return apply('where', np.broadcast_arrays(*of(node.cond, node.iftrue, node.iffalse)))
    return apply(node.name.name, np.broadcast_arrays(*of(*node.args.exprs)))


# ---- calls

def text_of(x):
    if x.dtype.kind in 'iu':
        return str(int(x))
    return str(x) if x.dtype != np.float64 else repr(float(x))


# What a device may be off besides the ulps, where those are of a larger term.
def slack_of(name, arguments, want, ulps):
    size = abs(SIZES[name](*(m.mpf(float(x)) for x in arguments)))
    digits = 24 if want.dtype == np.float32 else 53
    if not m.isfinite(size) or size <= abs(float(want)):
        return ''
    return '~%.3g' % (ulps * 2.0**(math.frexp(float(size))[1] - digits))


def ulps_of(tree, arithmetic, dtype):
    if arithmetic in WHOLES or not isinstance(tree, (c_ast.FuncCall, c_ast.BinaryOp)):
        return 0, None
    name = tree.name.name if isinstance(tree, c_ast.FuncCall) else OPERATORS[tree.op]
    ulps = {**NEAR, **MANY_DIGITS}.get(name, (None, 0))[1]
    return (min(ulps, 1) if dtype in ('f16', 'bf16') else ulps), name


def print_output(tree, text, dtype, ulps, named, arithmetic, n):
    own_ulps, name = ulps_of(tree, arithmetic, dtype)
    value = np.broadcast_to(value_of(tree, named, arithmetic), n)
    stored = convert(value, dtype)
    ulps = own_ulps if ulps is None else ulps
    words = [text_of(y) for y in stored]
    if name in SIZES and dtype == arithmetic:
        arguments = list(zip(*(value_of(x, named, arithmetic) for x in tree.args.exprs)))
        words = [word + slack_of(name, x, y, ulps)
                 for word, x, y in zip(words, arguments, stored)]
    print('out %s %s %s\n= %s' % (dtype, ulps, text, ' '.join(words)))


# `inputs` are (dtype, numbers), called a, b, ...; an output is (dtype, formula) or (dtype, formula,
# ulps), and None for a dtype is arithmetic's.
def call(inputs, outputs, values=(), arithmetic=None):
    for at in range(0, len(outputs), 4):
        call_at_once(inputs, [(*o, None)[:3] for o in outputs[at:at + 4]], values, arithmetic)


def call_at_once(inputs, outputs, values, arithmetic):
    names = 'abcdefgh'[:len(inputs)]
    arrays = [convert(np.array(x), dtype) for dtype, x in inputs]
    trees = [tree_of(text, names) for _, text, _ in outputs]
    print('call%s' % (' ' + arithmetic if arithmetic else ''))
    arithmetic = arithmetic or arithmetic_of(trees, [dtype for dtype, _ in inputs])
    named = {}
    for name, (dtype, _), x in zip(names, inputs, arrays):
        print('in %s %s' % (dtype, ' '.join(map(text_of, x))))
        named[name] = convert(x, arithmetic)
    for i, value in enumerate(values):
        print('value %r' % value)
        named['v%d' % i] = convert(np.array([value]), arithmetic)
    for tree, (dtype, text, ulps) in zip(trees, outputs):
        print_output(tree, text, dtype or arithmetic, ulps, named, arithmetic,
                     len(arrays[0]) if arrays else 1)


# ---- all of them

RANDOM = random.Random(1)
ODD = [0.0, 1.0, -1.0, INF, -INF, NAN]


def spread(least, most, n=18):
    return [RANDOM.uniform(least, most) for _ in range(n)]


def of_names(names, n_inputs):
    words = 'abcdefgh'[:n_inputs]
    return [(None, name if i % 2 else '%s(%s)' % (name, ', '.join(words)))
            for i, name in enumerate(names.split())]


def real_functions(dtype):
    for names, least, most in (
            ('floor ceil round rint trunc isnan isinf isfinite', -8, 8),
            ('negate copy abs fabs sign square relu logical_not', -8, 8),
            ('cbrt reciprocal atan asinh', -8, 8), ('sinh cosh tanh expm1', -8, 8),
            ('sin cos tan', -30, 30), ('exp exp2 sigmoid softplus', -80, 80),
            ('erf erfc gelu gelu_tanh', -4, 4), ('silu exp10', -30, 30)):
        halves = [0.5, -0.5, 1.5, -2.5, 0.25, -0.75] if 'floor' in names else []
        call([(dtype, ODD + halves + spread(least, most))], of_names(names, 1))
    for names, numbers in (('sqrt rsqrt log log2', [-1.0] + spread(0, 100)),
                           ('log10 log1p acosh', [1.0] + spread(1, 100)),
                           ('asin acos atanh', [0.0, 1.0, -1.0, 2.0] + spread(-1, 1))):
        call([(dtype, [0.0, INF, NAN] + numbers)], of_names(names, 1))

    pairs = list(itertools.product([0.0, -0.0, 1.0, -3.0, INF, -INF, NAN], repeat=2))
    a = [x for x, _ in pairs] + [2.5, -5.5, 6, -7] + spread(-8, 8, 9)
    b = [x for _, x in pairs] + [2.5, 2, -3, -3] + spread(-8, 8, 9)
    for names in ('add subtract multiply divide', 'quotient floor_divide remainder fmod',
                  'min max fmin fmax', 'equal not_equal less less_equal',
                  'greater greater_equal logical_and logical_or', 'copysign atan2 hypot'):
        call([(dtype, a), (dtype, b)], of_names(names, 2))
    call([(dtype, [abs(x) for x in a]), (dtype, b)], of_names('pow power', 2))
    c = spread(-8, 8, 24)
    inputs = [(dtype, spread(-8, 8, 20) + [-0.0, NAN, 1, 2]),
              (dtype, spread(-8, 8, 20) + [-0.0, 1, NAN, 2]), (dtype, c[:22] + [0, NAN])]
    call(inputs, of_names('where select clamp fma mad mix', 3))
    dy, x = (dtype, [0.0, -1.0] + spread(-8, 8, 22)), (dtype, ODD + spread(-4, 4))
    call([dy, x], of_names('abs_backward square_backward relu_backward leaky_relu elu', 2)
         + of_names('exp_backward tanh_backward erf_backward', 2))
    call([dy, x], of_names('sigmoid_backward silu_backward gelu_backward gelu_tanh_backward', 2))
    call([dy, (dtype, [INF, NAN] + spread(0, 100, 22))], of_names('sqrt_backward log_backward', 2))
    corners = [(5, -2, -1, 1), (5, -1, -1, 1), (5, -0.5, -1, 1), (5, 0, -1, 1), (5, 1, -1, 1),
               (5, 2, -1, 1), (5, 0, 0, 0), (5, 0, 1, -1), (INF, 1, -1, 1), (NAN, 2, -1, 1),
               (NAN, 0, -1, 1)]
    call([(dtype, list(x)) for x in zip(*corners)],
         [(None, 'clamp_backward'), (None, 'relu_backward(a, b)'), (None, 'abs_backward(a, b)')])


# Where functions differ by convention or lose their digits.
def far_numbers():
    f = float.fromhex
    call([('f32', [f('-0x1.b7cdfep-34'), 1e10, -1e10, 1e30, -1e30, f('0x1.ff933cp127'),
                   f('-0x1.ff933cp127'), 2**24, -2**24, f('0x1.c363ccp127'), 8388609, 123456789]),
          ('f32', [3, 3, 3, 7, 7, 1.1, 1.1, 0.1, 0.1, f('0x1.b38fbap-126'), 0.3, 7e-5])],
         [(None, x) for x in ('floor_divide', 'remainder', 'fmod', 'a % b')])
    call([('f64', [f('-0x1.79ca10c924223p-67'), 1e10, -2e30, 1.7e308, -1.7e308, 2**53, 8388609]),
          ('f64', [3, 3, 7, 1.1, 1.1, 0.1, 0.3])],
         [(None, x) for x in ('floor_divide', 'remainder', 'fmod', 'a % b')])
    for names, x, dy in (
            ('silu', [-104, -104, -100, -95, -88, -87, -64.5, -64, -40], [1, 2.0**100]),
            ('sigmoid softplus', [-103, -100, -95, -88, -87, -64.5, -64, -40], [1, 2.0**100]),
            ('gelu', [-14.25, -14, -14, -13.5, -13, -12.5, -11.5, -11.25, -10, -9.75], [1, 2.0**90]),
            ('gelu_tanh', [-10.25, -10, -9.75], [1, 2.0**30]),
            ('tanh', [-50, -50, -47, -44, -32.25], [1, 2.0**100]),
            ('erf', [-10, -10, -9.5, -9.25, -8], [1, 2.0**100])):
        ulps = 256 if names == 'gelu_tanh' else None
        outputs = [(None, name + '(a)', ulps) for name in names.split() if name not in 'tanh erf']
        outputs += [(None, names.split()[0] + '_backward(b, a)', ulps)]
        call([('f32', x), ('f32', (dy * len(x))[:len(x)])], outputs)


def whole_functions(dtype):
    ends = [int(np.iinfo(TYPES[dtype]).min), int(np.iinfo(TYPES[dtype]).max)]
    edges = [0, 1, -1, 2, -3, 7, 31, 33, 64, *ends] if dtype != 'u8' else [0, 1, 2, 7, 33, 200, 255]
    pairs = list(itertools.product(edges, repeat=2))
    a, b = [x for x, _ in pairs], [x for _, x in pairs]
    call([(dtype, a), (dtype, b)], of_names(
        'add subtract multiply min quotient left_shift floor_divide bitwise_and remainder max '
        'fmod right_shift fmin fmax bitwise_or bitwise_xor equal not_equal less less_equal greater '
        'greater_equal logical_and logical_or abs_backward square_backward relu_backward', 2))
    more = [*edges, 32, 63, -31, -7, 100, ends[0] + 1] if dtype != 'u8' else edges
    wide = [(dtype, list(x)) for x in zip(*itertools.product(more, repeat=2))]
    call(wide, [(None, 'a / b'), (None, 'a << b')])
    call(wide, [(None, 'a % b'), (None, 'a >> b')])
    call([(dtype, edges)],
         of_names('negate copy abs fabs sign square relu logical_not bitwise_not', 1))
    three = [(dtype, [RANDOM.choice(edges) for _ in range(24)]) for _ in range(4)]
    call(three[:3], of_names('clamp where select', 3))
    call(three, of_names('clamp_backward', 4))


# Operators side by side, all pairs of them folded into one number; and what else C's grammar has.
def grammar():
    a, b, c = [7, 1, 6, 2, 4, -5], [3, 2, 5, 7, 1, 2], [2, 5, 3, 1, 6, -3]
    inputs, folded = [('i32', a), ('i32', b), ('i32', c)], []
    for first in OPERATORS:
        text = '0'
        for second in OPERATORS:
            text = '(%s) * 31 + (a %s b %s c)' % (text, first, second)
        folded.append((None, text))
    call(inputs, folded)
    texts = '''
        -a + b; -a * -b; ~a & b; !a == b; !a + ~b; - -a - -b; -a % 3; +a; !a + !0; (a | b) & c
        (a + b) * -c; a - (b - c); a << (b >> c); 1 + 2 * 0x1f; a - 1 - 2; ~0 ^ a - 1; -5 % 3 + a
        a < b ? a : b < c ? b : c; a < b ? b < c ? a : b : c; a || b ? c : a; a ? b : c || a
        a | b ^ c & a == b < c << a + b * c; a * b + c << b < c == a & b ^ c | a; a ? b : c + a
        1 < 2 != 0 && 3 >= 4 || a <= 5; a < b ? 1 : 2 ? 3 : 4; where(a > b, max(a, b), -c)
        max(a, b) - min(a,b); clamp(a , 0, b); 0x1F + 10u + 0X10uL - 7LLU; -2147483648; - -a
        2147483647 + 1; select(a == b, b, a < c); where(a & 1, b, c) * (a != b); a >= b > c
        isnan(a) + isfinite(b)'''.replace('\n', ';').split(';')
    call(inputs, [(None, text.strip()) for text in texts if text])
    reals = [('f32', [5, -3, 0.5, NAN]), ('f32', [-3, 2, 0.25, 1]), ('f32', [2, 0, -8, 4])]
    constants = [name for name in CONSTANTS if name.startswith('M_')]
    for dtype in ('f32', 'f64'):
        call([(dtype, x) for _, x in reals], [(None, text) for text in (
            'a ? b : c', 'a == b || !c', '-a * b + c', 'a / 2 / 2', '1 / 2 + a', 'a < b == c > 1',
            'v0 * a + v1', '0.1', '1e-3f', '0x1.8p3 - a', '.5e+1 + 1.', '16777217 - 1',
            '-INFINITY', 'NAN', '-(a < b) + (b != c)', 'where(a, b, c) - select(a, b, c)',
            *constants, 'M_PI_F', 'M_PI_2_F')], values=(0.5, -3.0))


# Every pair of types, with numbers that the arithmetic shows in; what makes whole numbers real or
# long; and a formula beside another one that is real.
def promotion():
    telling = {'f16': [1.5, -2047, 0.1], 'bf16': [1.5, -255, 0.1], 'f32': [0.1, 16777215, -3],
               'f64': [0.1, 2.0**40 + 1, -1 / 3], 'i32': [2147483647, 16777217, -7],
               'i64': [2**40 + 1, -2**53 - 1, 5], 'u8': [255, 200, 3]}
    for one, other in itertools.combinations_with_replacement(telling, 2):
        of = arithmetic_of([], [one, other])
        call([(one, telling[one]), (other, telling[other])], [(of, 'a + b'), (of, 'a * b')])
    whole = [('i32', telling['i32']), ('u8', telling['u8'])]
    for text in ('a + 2147483648', 'a - 2147483648', 'a + -2147483648', 'a << 20 ^ 0xffffffff'):
        call(whole, [('i64', text)])
    for text in ('a + 2.0', 'a * M_E', 'divide(a, b)', 'sqrt(b)', 'a / b', 'a % b'):
        call(whole, [('f32', text), ('i32', 'a')])
    call(whole, [('f64', 'a / b'), ('i64', 'a')], arithmetic='f64')
    call(whole, [('i64', 'a * a')], arithmetic='i64')
    call([('i64', telling['i64'])], [('i64', 'a * 3'), ('u8', 'a')], arithmetic='i32')


# Stored in every type: ends of types, halves between neighbours and what is a little beside them,
# subnormal numbers.
def conversions():
    halves = [1 + k * 2.0**-digits for digits in (8, 11, 24) for k in (1, 3)]
    numbers = [0, -0.0, 1, -1, 0.5, -0.5, 0.99, -0.99, 1.5, 2.5, -2.5, 127.5, 254.9, 255, 255.9, 256,
               300, -1e-3, 1e10, -1e10, 2.0**31, 2147483520, -2.0**31, -2147483904, 2.0**63, -2.0**63,
               2.0**63 - 2.0**39, -2.0**63 - 2.0**40, 1e30, -1e30, INF, -INF, NAN, 65504, 65519, 65520,
               *halves, 2.0**-14, 2.0**-14 - 2.0**-25, 2.0**-24, 1.5 * 2.0**-24, 2.0**-25, 2.0**-26,
               1.25 * 2.0**-20, -1.75 * 2.0**-23, 255 * 2.0**120, 511 * 2.0**119, 511 * 2.0**119 - 2.0**110,
               2.0**128 - 2.0**104, 2.0**-126, 1.5 * 2.0**-127, 2.0**-133, 2.0**-134, 2.0**-149]
    beside = [*(x + sign * 2.0**-45 for x in halves for sign in (1, -1)), 2147483647.5, 1e300,
              65519.99999, 2.0**-25 + 2.0**-53, 2.0**128 - 2.0**103, 2.0**-150, 1.5 * 2.0**-150]
    wholes = [0, 1, -1, 127, 128, 200, 255, 256, 257, 259, -255, -256, 2047, 2049, 2051, -2049, 65503,
              65504, 65519, 65520, 65536, 2**24 + 1, 2**24 + 3, -2**24 - 1, 2**31 - 1, -2**31]
    more = [2**31, 2**31 + 128, 2**32 + 5, -2**32 - 5, 2**53 + 1, 2**53 + 3, 2**62 + 2**54,
            2**62 + 2**54 + 1, 2**62 + 3 * 2**54 - 1, 2**62 + 2**38, 2**62 + 2**38 + 1,
            -2**62 - 2**54 - 1, 2**63 - 1, -2**63, 2**63 - 512, 2**63 - 513]
    for dtype, x in (('f32', numbers), ('f64', numbers + beside), ('i32', wholes),
                     ('i64', wholes + more), ('u8', [0, 1, 127, 255]), ('f16', numbers),
                     ('bf16', numbers)):
        call([(dtype, x)], [(out, 'a') for out in TYPES if out != 'f64'])
        call([(dtype, x)], [('f64', 'a')])
    for dtype, x, arithmetic in (('i64', wholes + more, 'f32'), ('i64', wholes + more, 'i32'),
                                 ('u8', [0, 1, 127, 255], 'i64'), ('f32', numbers, 'f64'),
                                 ('i64', wholes + more, 'f64')):
        call([(dtype, x)], [(out, 'copy') for out in ('f32', 'i64', 'f16')], arithmetic=arithmetic)


def main():
    print('# What formulas come to, printed by tests/formulas.py; tests/vectors.h has the form.')
    for dtype in ('f32', 'f64'):
        real_functions(dtype)
    for dtype in ('f16', 'bf16'):
        x, y = [1.5, -0.75, 3, 0.1, -2], [0.5, 2, -3, 0.3, 7]
        call([(dtype, x), (dtype, y)], of_names('add multiply min atan2', 2))
        call([(dtype, x)], of_names('exp gelu floor square', 1))
    far_numbers()
    for dtype in ('i32', 'i64', 'u8'):
        whole_functions(dtype)
    grammar()
    promotion()
    conversions()


main()
