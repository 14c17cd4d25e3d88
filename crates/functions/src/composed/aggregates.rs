//! Aggregates that collect a list and ask it.

use super::{Composed, aggregate};

pub(super) const AGGREGATES: &[Composed] = &[
    aggregate(
        &["histogram"],
        &["x"],
        "list_histogram(array_agg(x))",
        "A map of each value to how often it is there, in their order.",
        ("histogram(x % 2)", "{0=2, 1=1}"),
    ),
    aggregate(
        &["histogram"],
        &["x", "bins"],
        "list_histogram_of_bins(array_agg(x), bins, false)",
        "A map of each bound to how many values lie between the one before it and it, and of those behind the last one.",
        ("histogram(x, [1, 3])", "{1=1, 3=1, 2147483647=1}"),
    ),
    aggregate(
        &["histogram_exact"],
        &["x", "bins"],
        "list_histogram_of_bins(array_agg(x), bins, true)",
        "A map of each of these values to how often it is there, and of all others.",
        ("histogram_exact(x, [1, 3])", "{1=1, 3=0, 2147483647=2}"),
    ),
    aggregate(
        &["approx_top_k"],
        &["x", "k"],
        "list_approx_top_k(array_agg(x), k)",
        "The most frequent values, so many; exact here.",
        ("approx_top_k(x % 2, 1)", "{0}"),
    ),
    aggregate(
        &["max"],
        &["x", "n"],
        "list_take(array_agg(x ORDER BY x DESC) FILTER (WHERE x IS NOT NULL), n)",
        "The greatest values, so many.",
        ("max(x, 2)", "{4,2}"),
    ),
    aggregate(
        &["min"],
        &["x", "n"],
        "list_take(array_agg(x ORDER BY x) FILTER (WHERE x IS NOT NULL), n)",
        "The least values, so many.",
        ("min(x, 2)", "{1,2}"),
    ),
    aggregate(
        &["arg_max", "argmax", "max_by"],
        &["x", "y", "n"],
        "list_take(array_agg(x ORDER BY y DESC) FILTER (WHERE x IS NOT NULL AND y IS NOT NULL), n)",
        "The values where the second argument is greatest, so many.",
        ("arg_max(x, -x, 2)", "{1,2}"),
    ),
    aggregate(
        &["arg_min", "argmin", "min_by"],
        &["x", "y", "n"],
        "list_take(array_agg(x ORDER BY y) FILTER (WHERE x IS NOT NULL AND y IS NOT NULL), n)",
        "The values where the second argument is least, so many.",
        ("arg_min(x, -x, 2)", "{4,2}"),
    ),
    aggregate(
        &["max_of_frames"],
        &["x", "n"],
        "list_take(list_reverse_sort(list_filter(array_agg(x), lambda \"#e\": \"#e\" IS NOT NULL)), n)",
        "The greatest values, so many, where a frame says of which rows.",
        ("max_of_frames(x, 2)", "{4,2}"),
    ),
    aggregate(
        &["min_of_frames"],
        &["x", "n"],
        "list_take(list_sort(list_filter(array_agg(x), lambda \"#e\": \"#e\" IS NOT NULL)), n)",
        "The least values, so many, likewise.",
        ("min_of_frames(x, 2)", "{1,2}"),
    ),
    aggregate(
        &["arg_max_of_frames", "argmax_of_frames", "max_by_of_frames"],
        &["x", "y", "n"],
        "list_transform(list_take(list_reverse_sort(list_filter(array_agg({'key': y, 'value': x}), \
         lambda \"#e\": \"#e\".key IS NOT NULL AND \"#e\".value IS NOT NULL)), n), lambda \"#f\": \"#f\".value)",
        "The values where the second argument is greatest, so many, likewise.",
        ("arg_max_of_frames(x, -x, 2)", "{1,2}"),
    ),
    aggregate(
        &["arg_min_of_frames", "argmin_of_frames", "min_by_of_frames"],
        &["x", "y", "n"],
        "list_transform(list_take(list_sort(list_filter(array_agg({'key': y, 'value': x}), \
         lambda \"#e\": \"#e\".key IS NOT NULL AND \"#e\".value IS NOT NULL)), n), lambda \"#f\": \"#f\".value)",
        "The values where the second argument is least, so many, likewise.",
        ("arg_min_of_frames(x, -x, 2)", "{4,2}"),
    ),
    aggregate(
        &["arg_max_null"],
        &["x", "y"],
        "struct_extract(arg_max({'value': x}, y), 'value')",
        "The value where the second argument is greatest, which may be NULL.",
        ("arg_max_null(nullif(x, 4), x)", "NULL"),
    ),
    aggregate(
        &["arg_min_null"],
        &["x", "y"],
        "struct_extract(arg_min({'value': x}, y), 'value')",
        "The value where the second argument is least, which may be NULL.",
        ("arg_min_null(nullif(x, 1), x)", "NULL"),
    ),
    aggregate(
        &["mad"],
        &["x"],
        "list_mad(array_agg(x))",
        "The median of the distances from the median.",
        ("mad(x)", "1"),
    ),
    aggregate(
        &["entropy"],
        &["x"],
        "coalesce(list_entropy(array_agg(x)), 0e0)",
        "The entropy of the values in bits.",
        ("entropy(x % 2)", "0.9182958340544893"),
    ),
];
