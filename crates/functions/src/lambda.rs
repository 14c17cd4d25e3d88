//! Functions that compute something of each element of a list, by a lambda. Each is a loop in code (`plan::Each`): a row here says
//! only what it is called and which loop it is.

/// What a function makes of what its lambda computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LambdaKind {
    /// A list of it.
    Transform,
    /// A list of the elements for which it is true.
    Filter,
    /// The value that is left.
    Reduce,
    /// A list of it, of the elements for which a second lambda is true.
    Comprehension,
}

/// A function that takes a lambda.
#[derive(Clone, Copy, Debug)]
pub struct Lambda {
    /// What SQL calls it, in lower case.
    pub names: &'static [&'static str],
    /// What it makes.
    pub kind: LambdaKind,
    /// One line for the reference.
    pub documentation: &'static str,
    /// A call and its result as text.
    pub example: (&'static str, &'static str),
}

impl Lambda {
    /// The function that SQL calls `name`, in lower case.
    pub fn find(name: &str) -> Option<&'static Self> {
        LAMBDAS.iter().find(|lambda| lambda.names.contains(&name))
    }
}

/// Every such function.
pub const LAMBDAS: &[Lambda] = &[
    Lambda {
        names: &["list_transform", "list_apply", "array_transform", "array_apply", "apply"],
        kind: LambdaKind::Transform,
        documentation: "What the lambda makes of each element; its second parameter is the element's number.",
        example: ("list_transform([1, 2, NULL], lambda x: x * 10)", "{10,20,NULL}"),
    },
    Lambda {
        names: &["list_filter", "array_filter", "filter"],
        kind: LambdaKind::Filter,
        documentation: "The elements for which the lambda is true; its second parameter is the element's number.",
        example: ("list_filter([5, 6, 7], lambda x, i: x > 5 AND i < 3)", "{6}"),
    },
    Lambda {
        names: &["list_reduce", "array_reduce", "reduce"],
        kind: LambdaKind::Reduce,
        documentation: "What is left when the lambda has taken what it made so far and each element, from the first or from an initial value on.",
        example: ("list_reduce([1, 2, 3], lambda sum, x: sum + x, 100)", "106"),
    },
    Lambda {
        names: &[COMPREHENSION],
        kind: LambdaKind::Comprehension,
        documentation: "What an expression makes of each element for which a condition holds.",
        example: ("[x * 2 FOR x IN [1, 2, 3] IF x > 1]", "{4,6}"),
    },
];

/// What a list comprehension is a call of: no name that could be written without quotes.
pub const COMPREHENSION: &str = "list comprehension";
