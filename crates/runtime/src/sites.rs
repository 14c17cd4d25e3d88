//! Calls of SQL functions through boxed values.

use base::{Error, Result};
use functions::Call;
use pipeline::ir::{Site, SiteKind};
use types::Value;
use types::ops::{cast, like};

/// The value of a call at a site.
pub(crate) fn call(site: &Site, arguments: &[Value]) -> Result<Value> {
    let text = |i: usize| match arguments.get(i) {
        Some(Value::Str(text)) => Ok(&**text),
        _ => Err(Error::internal("LIKE of something that is not a text")),
    };
    match &site.kind {
        SiteKind::Scalar(function) => {
            function.evaluate(&Call { values: arguments, types: &site.arguments, result: site.result })
        }
        SiteKind::Cast(or_null) => {
            let value = cast::cast_value(&arguments[0], site.arguments[0], site.result);
            if *or_null { Ok(value.unwrap_or(Value::Null)) } else { value }
        }
        SiteKind::Elements => Err(Error::internal("a site that calls nothing")),
        SiteKind::Like { syntax } => like::matches(text(0)?, text(1)?, *syntax).map(Value::Bool),
    }
}
