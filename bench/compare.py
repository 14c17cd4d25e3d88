"""Whether two results are the same: numbers as numbers, text without trailing blanks, in any order."""

import math


def number(value):
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def canonical(value):
    if value is None:
        return (0, "")
    if isinstance(value, bool):
        return (1, str(value).lower())
    as_number = number(value)
    if as_number is not None:
        return (2, f"{as_number:+.8e}")
    return (3, str(value).rstrip())


def same(a, b, tolerance):
    if a is None or b is None:
        return a is None and b is None
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return math.isclose(x, y, rel_tol=tolerance, abs_tol=1e-6) or (math.isnan(x) and math.isnan(y))
    return canonical(a) == canonical(b)


def difference(expected, actual, tolerance=1e-7):
    """None, or a sentence that says where two lists of rows differ. Systems round averages differently."""
    if len(expected) != len(actual):
        return f"{len(actual)} rows, not {len(expected)}"

    def key(row):
        values = [canonical(v) for v in row]
        is_inexact = [v[0] == 2 and not float(v[1]).is_integer() for v in values]
        exact = [(2, "") if inexact else v for v, inexact in zip(values, is_inexact)]
        return (exact, values)

    for place, (a, b) in enumerate(zip(sorted(expected, key=key), sorted(actual, key=key))):
        if len(a) != len(b) or not all(same(x, y, tolerance) for x, y in zip(a, b)):
            return f"row {place + 1} in sorted order: {b}, not {a}"[:300]
    return None
