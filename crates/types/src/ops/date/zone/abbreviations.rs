//! Abbreviations of time zones in texts.

/// Abbreviations that name an offset whatever the date is, and their hours east of UTC in quarters: PostgreSQL's default
/// set, as it is today.
#[rustfmt::skip]
pub(super) const ABBREVIATIONS: &[(&str, i32)] = &[
    ("acdt", 42), ("acsst", 42), ("acst", 38), ("act", -20), ("acwst", 35), ("adt", -12), ("aedt", 44), ("aesst", 44),
    ("aest", 40), ("aft", 18), ("akdt", -32), ("akst", -36), ("almst", 28), ("almt", 24), ("amst", 16), ("amt", -16),
    ("anast", 48), ("anat", 48), ("arst", -12), ("art", -12), ("ast", -16), ("awsst", 36), ("awst", 32), ("azost", 0),
    ("azot", -4), ("azst", 16), ("azt", 16), ("bdst", 8), ("bdt", 24), ("bnt", 32), ("bort", 32), ("bot", -16), ("bra",
    -12), ("brst", -8), ("brt", -12), ("bst", 4), ("btt", 24), ("cadt", 42), ("cast", 38), ("cct", 32), ("cdt", -20),
    ("cest", 8), ("cet", 4), ("cetdst", 8), ("chadt", 55), ("chast", 51), ("chut", 40), ("ckt", -40), ("clst", -12),
    ("clt", -12), ("cot", -20), ("cst", -24), ("cxt", 28), ("davt", 28), ("ddut", 40), ("easst", -20), ("east", -20),
    ("eat", 12), ("edt", -16), ("eest", 12), ("eet", 8), ("eetdst", 12), ("egst", 0), ("egt", -4), ("est", -20), ("fet",
    12), ("fjst", 52), ("fjt", 48), ("fkst", -12), ("fkt", -12), ("fnst", -4), ("fnt", -8), ("galt", -24), ("gamt", -36),
    ("gest", 16), ("get", 16), ("gft", -12), ("gilt", 48), ("gmt", 0), ("gyt", -16), ("hkt", 32), ("hst", -40), ("ict",
    28), ("idt", 12), ("iot", 24), ("irkst", 32), ("irkt", 32), ("irt", 14), ("ist", 8), ("jayt", 36), ("jst", 36),
    ("kdt", 40), ("kgst", 24), ("kgt", 24), ("kost", 44), ("krast", 28), ("krat", 28), ("kst", 36), ("lhdt", 44), ("lhst",
    42), ("ligt", 40), ("lint", 56), ("lkt", 22), ("magst", 44), ("magt", 44), ("mart", -38), ("mawt", 20), ("mdt", -24),
    ("mest", 8), ("mesz", 8), ("met", 4), ("metdst", 8), ("mez", 4), ("mht", 48), ("mmt", 26), ("mpt", 40), ("msd", 16),
    ("mst", -28), ("must", 20), ("mut", 16), ("mvt", 20), ("myt", 32), ("ndt", -10), ("nft", -14), ("novst", 28), ("novt",
    28), ("npt", 23), ("nst", -14), ("nut", -44), ("nzdt", 52), ("nzst", 48), ("nzt", 48), ("omsst", 24), ("omst", 24),
    ("pdt", -28), ("pet", -20), ("petst", 48), ("pett", 48), ("pgt", 40), ("pht", 32), ("pkst", 24), ("pkt", 20), ("pmdt",
    -8), ("pmst", -12), ("pont", 44), ("pst", -32), ("pwt", 36), ("pyst", -12), ("pyt", -12), ("ret", 16), ("sadt", 42),
    ("sast", 8), ("sct", 16), ("sgt", 32), ("taht", -40), ("tft", 20), ("tjt", 20), ("tkt", 52), ("tmt", 20), ("tot", 52),
    ("trut", 40), ("tvt", 48), ("uct", 0), ("ulast", 36), ("ulat", 32), ("ut", 0), ("utc", 0), ("uyst", -8), ("uyt", -12),
    ("uzst", 24), ("uzt", 20), ("vlast", 40), ("vlat", 40), ("volt", 12), ("vut", 44), ("wadt", 32), ("wakt", 48),
    ("wast", 28), ("wat", 4), ("wdt", 36), ("west", 4), ("wet", 0), ("wetdst", 4), ("wft", 48), ("wgst", -8), ("wgt",
    -12), ("xjt", 24), ("yakst", 36), ("yakt", 36), ("yapt", 40), ("yekst", 24), ("yekt", 20), ("z", 0), ("zulu", 0),
];

/// Those that have meant different offsets, and the zones that say which.
pub(super) const CHANGED: &[(&str, &str)] = &[("msk", "Europe/Moscow"), ("vet", "America/Caracas")];
