import pytest

import morseldb


@pytest.fixture
def con():
    with morseldb.connect(threads=2) as connection:
        yield connection


@pytest.fixture
def big(con):
    """A connection with a table of half a million rows."""
    con.execute("create table digits as select * from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) as v(d)")
    con.execute(
        "create table big as select a.d + 10*b.d + 100*c.d + 1000*d.d + 10000*e.d + 100000*f.d as n"
        " from digits a, digits b, digits c, digits d, digits e, digits f where f.d < 5"
    )
    return con
