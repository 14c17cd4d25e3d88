//! Amounts of memory.

/// Bytes of `4GB`, `512 MiB`, `1000`, `none` (no limit). Decimal and binary units alike are binary, as people mean them.
pub(crate) fn parse_memory(text: &str) -> Option<usize> {
    let text = text.trim().to_lowercase();
    if matches!(text.as_str(), "none" | "unlimited" | "-1") {
        return Some(usize::MAX);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "b" | "bytes" => 1u64,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    Some((number * unit as f64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_units() {
        assert_eq!(parse_memory("1.5GB"), Some(3 << 29));
        assert_eq!(parse_memory("512 MiB"), Some(512 << 20));
        assert_eq!(parse_memory("12"), Some(12));
        assert_eq!(parse_memory("x"), None);
    }
}
