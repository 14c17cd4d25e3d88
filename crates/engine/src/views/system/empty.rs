//! Tables of `pg_catalog` about what is not here: policies, publications, extended statistics, text search and so on. Tools read them
//! beside others, so that they are there, with PostgreSQL's columns, and have no rows.

use types::SqlType;

/// What a letter behind a column's name means.
const TYPES: [(char, SqlType); 8] = [
    ('o', SqlType::BigInt),
    ('t', SqlType::Text),
    ('b', SqlType::Bool),
    ('s', SqlType::SmallInt),
    ('i', SqlType::Integer),
    ('O', SqlType::Array(&SqlType::BigInt)),
    ('T', SqlType::Array(&SqlType::Text)),
    ('S', SqlType::Array(&SqlType::SmallInt)),
];

/// Their names and columns, each with the letter of its type.
const TABLES: &[(&str, &str)] = &[
    (
        "pg_aggregate",
        "aggfnoid:o aggkind:t aggnumdirectargs:s aggtransfn:o aggfinalfn:o aggcombinefn:o aggserialfn:o aggdeserialfn:o aggmtransfn:o aggminvtransfn:o aggmfinalfn:o aggfinalextra:b aggmfinalextra:b aggfinalmodify:t aggmfinalmodify:t aggsortop:o aggtranstype:o aggtransspace:i aggmtranstype:o aggmtransspace:i agginitval:t aggminitval:t",
    ),
    (
        "pg_amop",
        "oid:o amopfamily:o amoplefttype:o amoprighttype:o amopstrategy:s amoppurpose:t amopopr:o amopmethod:o amopsortfamily:o",
    ),
    ("pg_amproc", "oid:o amprocfamily:o amproclefttype:o amprocrighttype:o amprocnum:s amproc:o"),
    ("pg_auth_members", "roleid:o member:o grantor:o admin_option:b"),
    ("pg_cast", "oid:o castsource:o casttarget:o castfunc:o castcontext:t castmethod:t"),
    (
        "pg_conversion",
        "oid:o conname:t connamespace:o conowner:o conforencoding:i contoencoding:i conproc:o condefault:b",
    ),
    ("pg_db_role_setting", "setdatabase:o setrole:o setconfig:T"),
    ("pg_default_acl", "oid:o defaclrole:o defaclnamespace:o defaclobjtype:t defaclacl:T"),
    ("pg_event_trigger", "oid:o evtname:t evtevent:t evtowner:o evtfoid:o evtenabled:t evttags:T"),
    ("pg_foreign_data_wrapper", "oid:o fdwname:t fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:T fdwoptions:T"),
    ("pg_foreign_server", "oid:o srvname:t srvowner:o srvfdw:o srvtype:t srvversion:t srvacl:T srvoptions:T"),
    ("pg_foreign_table", "ftrelid:o ftserver:o ftoptions:T"),
    (
        "pg_opclass",
        "oid:o opcmethod:o opcname:t opcnamespace:o opcowner:o opcfamily:o opcintype:o opcdefault:b opckeytype:o",
    ),
    (
        "pg_operator",
        "oid:o oprname:t oprnamespace:o oprowner:o oprkind:t oprcanmerge:b oprcanhash:b oprleft:o oprright:o oprresult:o oprcom:o oprnegate:o oprcode:o oprrest:o oprjoin:o",
    ),
    ("pg_opfamily", "oid:o opfmethod:o opfname:t opfnamespace:o opfowner:o"),
    ("pg_policies", "schemaname:t tablename:t policyname:t permissive:t roles:T cmd:t qual:t with_check:t"),
    ("pg_policy", "oid:o polname:t polrelid:o polcmd:t polpermissive:b polroles:O polqual:t polwithcheck:t"),
    (
        "pg_publication",
        "oid:o pubname:t pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b pubtruncate:b pubviaroot:b",
    ),
    ("pg_publication_namespace", "oid:o pnpubid:o pnnspid:o"),
    ("pg_publication_rel", "oid:o prpubid:o prrelid:o prqual:t prattrs:S"),
    ("pg_publication_tables", "pubname:t schemaname:t tablename:t attnames:T rowfilter:t"),
    ("pg_range", "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical:o rngsubdiff:o"),
    ("pg_rewrite", "oid:o rulename:t ev_class:o ev_type:t ev_enabled:t is_instead:b ev_qual:t ev_action:t"),
    ("pg_rules", "schemaname:t tablename:t rulename:t definition:t"),
    ("pg_seclabel", "objoid:o classoid:o objsubid:i provider:t label:t"),
    ("pg_shdepend", "dbid:o classid:o objid:o objsubid:i refclassid:o refobjid:o deptype:t"),
    ("pg_shdescription", "objoid:o classoid:o description:t"),
    (
        "pg_statistic_ext",
        "oid:o stxrelid:o stxname:t stxnamespace:o stxowner:o stxstattarget:i stxkeys:S stxkind:T stxexprs:t",
    ),
    (
        "pg_subscription",
        "oid:o subdbid:o subskiplsn:t subname:t subowner:o subenabled:b subbinary:b substream:b subtwophasestate:t subdisableonerr:b subconninfo:t subslotname:t subsynccommit:t subpublications:T",
    ),
    ("pg_transform", "oid:o trftype:o trflang:o trffromsql:o trftosql:o"),
    ("pg_ts_config", "oid:o cfgname:t cfgnamespace:o cfgowner:o cfgparser:o"),
    ("pg_ts_dict", "oid:o dictname:t dictnamespace:o dictowner:o dicttemplate:o dictinitoption:t"),
    ("pg_ts_parser", "oid:o prsname:t prsnamespace:o prsstart:o prstoken:o prsend:o prsheadline:o prslextype:o"),
    ("pg_ts_template", "oid:o tmplname:t tmplnamespace:o tmplinit:o tmpllexize:o"),
    ("pg_user_mapping", "oid:o umuser:o umserver:o umoptions:T"),
];

/// The columns of such a table, if it is one.
pub(super) fn columns(name: &str) -> Option<Vec<(&'static str, SqlType)>> {
    let (_, columns) = TABLES.iter().find(|(known, _)| *known == name)?;
    let column = |written: &'static str| {
        let (name, letter) = written.split_once(':')?;
        let (_, sql_type) = TYPES.iter().find(|(known, _)| letter.starts_with(*known))?;
        Some((name, *sql_type))
    };
    columns.split(' ').map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_columns_have_types() {
        for (name, written) in TABLES {
            assert_eq!(columns(name).map(|c| c.len()), Some(written.split(' ').count()), "{name}");
        }
    }
}
