//! The text form of plans: what EXPLAIN shows, and what tests are written in. [`parse`] reads what [`print()`] prints.
//!
//! One operator a line, its inputs below it, indented by two. Columns are `name#id`, with `:type` (and `?` if nullable)
//! where they are made; expressions are SQL, with `::type` (an annotation, not a cast) wherever the type does not follow
//! from the operands; casts are `cast(x as type)`. `@14` after an operand is its place in the SQL text: [`print()`] writes
//! places, EXPLAIN leaves them out. Texts with control characters are `E'a\nb'`. Subqueries are `$n` in expressions, with
//! their plans below the operator's inputs.
//!
//! Architecture invariant: [`parse`] gives back every plan that [`print()`] has printed, but for estimates and for what
//! only the catalog knows of tables.
//!
//! ```text
//! output [n = n#3]
//!   aggregate [] [n#3:bigint = count(*)]
//!     scan orders t0 [o_orderkey#0:bigint = 0] where [o_orderkey#0 < 7::bigint]
//! ```

mod lexer;
mod parse;
mod parse_expr;
mod print;
mod print_expr;
mod values;
mod window;

pub use parse::{Tables, parse, stub_table};
pub use print::{Printer, print};
pub use print_expr::expr_to_string;

#[cfg(test)]
mod tests;
