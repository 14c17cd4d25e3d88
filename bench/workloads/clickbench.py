"""The queries of ClickBench over a table `hits` of its shape, reduced to the columns that the queries use."""

import numpy
import pyarrow

from . import Query, Workload

SITES = ["google", "yandex", "mail", "auto", "news", "shop", "video", "maps", "forum", "wiki"]
WORDS = ["red", "car", "cheap", "flight", "weather", "music", "film", "house", "garden", "phone", "recipe", "Google"]
MODELS = ["", *(f"{maker} {n}" for maker in ("iPad", "Nokia", "Lumia", "Galaxy", "Xperia") for n in range(30))]
DAY = 86_400_000_000


def powers(random, most, rows, skew=2.0):
    """Small numbers far more often than large ones, below a limit."""
    return (most * random.power(1 / skew, rows)).astype(numpy.int64)


def texts(random, make, distinct, rows, skew=2.0):
    """A column of that many different texts."""
    return pyarrow.array([make(n) for n in range(distinct)]).take(pyarrow.array(powers(random, distinct, rows, skew)))


def page(n):
    """An address; some have no `www`, some are of Google."""
    site = SITES[n % 97 % len(SITES)] if n % 11 else f"site{n % 5003}"
    return f"http://{'www.' if n % 3 else ''}{site}.ru/{WORDS[n % 12]}/{n * 7919 % 100_003}/page{n}.html?from={n % 17}"


def phrase(n):
    return " ".join(WORDS[n // 12**place % 12] for place in range(2 + n % 4)) + f" {n}" if n else ""


def rare(random, values, rows, share):
    """Zero, but for a share of the rows."""
    return numpy.where(random.random(rows) < share, random.integers(1, values, rows), 0).astype(numpy.int16)


def generate(rows):
    rows = int(rows)
    random = numpy.random.default_rng(7)
    start = numpy.datetime64("2013-07-01T00:00:00", "us")
    # Rows come about in the order of time: one of each hundred out of its place.
    seconds = numpy.sort(random.integers(0, 31 * 86_400, rows)) * 1_000_000
    late = random.random(rows) < 0.01
    seconds[late] = random.permutation(seconds[late])
    users = random.integers(-(2**62), 2**62, max(rows // 6, 1))
    pages = powers(random, max(rows // 5, 1), rows)
    addresses = pyarrow.array([page(n) for n in range(max(rows // 5, 1))])
    searching = random.random(rows) < 0.13
    words = texts(random, phrase, max(rows // 20, 2), rows)
    hashes = random.integers(-(2**62), 2**62, len(addresses))
    yield "hits", pyarrow.table(
        {
            "watchid": random.integers(0, 2**62, rows),
            "title": texts(random, lambda n: f"{phrase(n + 1)} - {SITES[n % 10].title()}", max(rows // 10, 2), rows),
            "eventtime": start + seconds.astype("timedelta64[us]"),
            "eventdate": pyarrow.array((start + (seconds // DAY * DAY).astype("timedelta64[us]")).astype("datetime64[D]")),
            "counterid": powers(random, 6000, rows, 6).astype(numpy.int32) + 62,
            "clientip": random.integers(-(2**31), 2**31, max(rows // 8, 1), dtype=numpy.int32)[powers(random, max(rows // 8, 1), rows)],
            "regionid": powers(random, 9000, rows, 4).astype(numpy.int32),
            "userid": users[powers(random, len(users), rows)],
            "url": addresses.take(pyarrow.array(pages)),
            "referer": texts(random, lambda n: page(n * 3) if n % 4 else "", max(rows // 6, 1), rows),
            "isrefresh": rare(random, 2, rows, 0.15),
            "resolutionwidth": random.choice(numpy.array([0, 1024, 1280, 1366, 1440, 1600, 1920], dtype=numpy.int16), rows),
            "mobilephone": rare(random, 60, rows, 0.05),
            "mobilephonemodel": texts(random, MODELS.__getitem__, len(MODELS), rows, 12),
            "traficsourceid": random.integers(-1, 10, rows, dtype=numpy.int16),
            "searchengineid": rare(random, 90, rows, 0.13),
            "searchphrase": pyarrow.compute.if_else(pyarrow.array(searching), words, ""),
            "advengineid": rare(random, 60, rows, 0.006),
            "windowclientwidth": random.integers(0, 2000, rows, dtype=numpy.int16),
            "windowclientheight": random.integers(0, 1200, rows, dtype=numpy.int16),
            "islink": rare(random, 2, rows, 0.1),
            "isdownload": rare(random, 2, rows, 0.01),
            "dontcounthits": rare(random, 2, rows, 0.2),
            "refererhash": random.integers(-(2**62), 2**62, 5000)[powers(random, 5000, rows, 6)],
            "urlhash": hashes[pages],
        }
    )


def top(name, keys, values, order, where="", limit="limit 10", columns=None, having=""):
    """The largest groups; groups that tie are left open, so that only what orders them is compared."""
    where = f" where {where}" if where else ""
    sql = f"select {keys}, {values} from hits{where} group by {keys}{having} order by {order} desc {limit}"
    return Query(name, sql, columns=(len(keys.split(", ")),) if columns is None else columns)


def of_a_site(name, keys, where, offset):
    """What one site's owner asks for."""
    july = "counterid = 62 and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31'"
    return top(name, keys, "count(*) as pageviews", "pageviews", f"{july} and {where}", f"limit 10 offset {offset}")


def queries(rows):
    searched = "searchphrase <> ''"
    site = r"regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1')"
    sums = ", ".join(["sum(resolutionwidth)", *(f"sum(resolutionwidth + {n})" for n in range(1, 90))])
    users = "count(distinct userid) as u"
    both = "count(*) as c, sum(isrefresh), avg(resolutionwidth)"
    counted = "dontcounthits = 0 and isrefresh = 0"
    return [
        Query("q0", "select count(*) from hits"),
        Query("q1", "select count(*) from hits where advengineid <> 0"),
        Query("q2", "select sum(advengineid), count(*), avg(resolutionwidth) from hits"),
        Query("q3", "select avg(userid) from hits"),
        Query("q4", "select count(distinct userid) from hits"),
        Query("q5", "select count(distinct searchphrase) from hits"),
        Query("q6", "select min(eventdate), max(eventdate) from hits"),
        top("q7", "advengineid", "count(*) as c", "c", "advengineid <> 0", limit=""),
        top("q8", "regionid", users, "u"),
        top("q9", "regionid", f"count(*) as c, sum(advengineid), avg(resolutionwidth), {users}", "c"),
        top("q10", "mobilephonemodel", users, "u", "mobilephonemodel <> ''"),
        top("q11", "mobilephone, mobilephonemodel", users, "u", "mobilephonemodel <> ''"),
        top("q12", "searchphrase", "count(*) as c", "c", searched),
        top("q13", "searchphrase", users, "u", searched),
        top("q14", "searchengineid, searchphrase", "count(*) as c", "c", searched),
        top("q15", "userid", "count(*) as c", "c"),
        top("q16", "userid, searchphrase", "count(*) as c", "c"),
        Query("q17", "select userid, searchphrase, count(*) from hits group by userid, searchphrase limit 10", columns=()),
        Query(
            "q18",
            "select userid, extract(minute from eventtime) as m, searchphrase, count(*) as c from hits"
            " group by userid, extract(minute from eventtime), searchphrase order by c desc limit 10",
            columns=(3,),
        ),
        Query("q19", "select userid from hits where userid = 435090932899640449"),
        Query("q20", "select count(*) from hits where url like '%google%'"),
        top("q21", "searchphrase", "min(url), count(*) as c", "c", f"url like '%google%' and {searched}", columns=(2,)),
        top(
            "q22",
            "searchphrase",
            f"min(url), min(title), count(*) as c, {users}",
            "c",
            f"title like '%Google%' and url not like '%.google.%' and {searched}",
            columns=(3,),
        ),
        Query("q23", "select * from hits where url like '%google%' order by eventtime limit 10", columns=(2,)),
        Query("q24", f"select searchphrase from hits where {searched} order by eventtime limit 10", columns=()),
        Query("q25", f"select searchphrase from hits where {searched} order by searchphrase limit 10"),
        Query("q26", f"select searchphrase from hits where {searched} order by eventtime, searchphrase limit 10"),
        Query(
            "q27",
            "select counterid, avg(length(url)) as l, count(*) as c from hits where url <> '' group by counterid"
            f" having count(*) > {int(rows // 1000)} order by l desc limit 25",
        ),
        Query(
            "q28",
            f"select {site} as k, avg(length(referer)) as l, count(*) as c, min(referer) from hits where referer <> ''"
            f" group by {site} having count(*) > {int(rows // 1000)} order by l desc limit 25",
        ),
        Query("q29", f"select {sums} from hits"),
        top("q30", "searchengineid, clientip", both, "c", searched),
        top("q31", "watchid, clientip", both, "c", searched),
        top("q32", "watchid, clientip", both, "c"),
        top("q33", "url", "count(*) as c", "c"),
        Query("q34", "select 1 as one, url, count(*) as c from hits group by url order by c desc limit 10", columns=(0, 2)),
        top("q35", "clientip, clientip - 1, clientip - 2, clientip - 3", "count(*) as c", "c"),
        of_a_site("q36", "url", f"{counted} and url <> ''", 0),
        of_a_site("q37", "title", f"{counted} and title <> ''", 0),
        of_a_site("q38", "url", "isrefresh = 0 and islink <> 0 and isdownload = 0", 1000),
        Query(
            "q39",
            "select traficsourceid, searchengineid, advengineid, case when searchengineid = 0 and advengineid = 0"
            " then referer else '' end as src, url as dst, count(*) as pageviews from hits where counterid = 62"
            " and eventdate >= date '2013-07-01' and eventdate <= date '2013-07-31' and isrefresh = 0"
            " group by traficsourceid, searchengineid, advengineid, case when searchengineid = 0 and advengineid = 0"
            " then referer else '' end, url order by pageviews desc limit 10 offset 1000",
            columns=(5,),
        ),
        of_a_site("q40", "urlhash, eventdate", "isrefresh = 0 and traficsourceid in (-1, 6) and refererhash = 3594120000172545465", 100),
        of_a_site("q41", "windowclientwidth, windowclientheight", counted, 10_000),
        Query(
            "q42",
            "select date_trunc('minute', eventtime) as m, count(*) as pageviews from hits where counterid = 62"
            f" and eventdate >= date '2013-07-14' and eventdate <= date '2013-07-15' and {counted}"
            " group by date_trunc('minute', eventtime) order by m limit 10 offset 1000",
        ),
    ]


WORKLOAD = Workload("clickbench", 5_000_000, 1_000_000, ("hits",), generate, queries)
