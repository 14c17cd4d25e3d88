"""The Star Schema Benchmark (O'Neil et al.): 13 queries over orders and four dimensions, drawn by a generator of our own."""

import numpy
import pyarrow

from . import Query, Workload

REGIONS = {
    "AFRICA": ["ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"],
    "AMERICA": ["ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"],
    "ASIA": ["CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"],
    "EUROPE": ["FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"],
    "MIDDLE EAST": ["EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"],
}
NATIONS = [(nation, region) for region, nations in REGIONS.items() for nation in nations]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
COLORS = ["almond", "azure", "beige", "blue", "chocolate", "cyan", "forest", "green", "ivory", "lemon", "olive", "salmon"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def picked(random, values, rows):
    """A column of random ones of a few values."""
    return pyarrow.array(values).take(pyarrow.array(random.integers(0, len(values), rows)))


def people(random, prefix, title, rows):
    """Customers or suppliers: a city is nine letters of its nation, and a digit."""
    nation, digit = random.integers(0, len(NATIONS), rows), random.integers(0, 10, rows)
    return {
        f"{prefix}key": numpy.arange(1, rows + 1, dtype=numpy.int32),
        f"{prefix[0]}_name": [f"{title}#{n:09}" for n in range(1, rows + 1)],
        f"{prefix[0]}_city": [f"{NATIONS[n][0][:9]:9}{d}" for n, d in zip(nation, digit)],
        f"{prefix[0]}_nation": [NATIONS[n][0] for n in nation],
        f"{prefix[0]}_region": [NATIONS[n][1] for n in nation],
        f"{prefix[0]}_phone": [f"{10 + n}-{p:07}" for n, p in zip(nation, random.integers(0, 10**7, rows))],
    }


def dates():
    days = numpy.arange("1992-01-01", "1999-01-01", dtype="datetime64[D]").tolist()
    return {
        "d_datekey": numpy.array([int(f"{d:%Y%m%d}") for d in days], dtype=numpy.int32),
        "d_year": numpy.array([d.year for d in days], dtype=numpy.int32),
        "d_yearmonthnum": numpy.array([d.year * 100 + d.month for d in days], dtype=numpy.int32),
        "d_yearmonth": [f"{MONTHS[d.month - 1]}{d.year}" for d in days],
        "d_weeknuminyear": numpy.array([(d.timetuple().tm_yday - 1) // 7 + 1 for d in days], dtype=numpy.int32),
    }


def parts(random, rows):
    maker, category, brand = (random.integers(1, limit + 1, rows) for limit in (5, 5, 40))
    return {
        "p_partkey": numpy.arange(1, rows + 1, dtype=numpy.int32),
        "p_name": picked(random, [f"{a} {b}" for a in COLORS for b in COLORS], rows),
        "p_mfgr": [f"MFGR#{m}" for m in maker],
        "p_category": [f"MFGR#{m}{c}" for m, c in zip(maker, category)],
        "p_brand1": [f"MFGR#{m}{c}{b:02}" for m, c, b in zip(maker, category, brand)],
        "p_color": picked(random, COLORS, rows),
        "p_size": random.integers(1, 51, rows, dtype=numpy.int32),
    }


def orders(random, rows, customers, suppliers, part_count, days):
    """One row for each line of an order, in the order of the orders' keys."""
    number = numpy.arange(rows)
    order, place = number // 4, random.integers(0, len(days), rows // 4 + 1)
    quantity, discount = (random.integers(low, high, rows, dtype=numpy.int32) for low, high in ((1, 51), (0, 11)))
    price = random.integers(900, 2000, rows, dtype=numpy.int32) * quantity * 100
    return {
        "lo_orderkey": (order + 1).astype(numpy.int32),
        "lo_linenumber": (number % 4 + 1).astype(numpy.int32),
        "lo_custkey": random.integers(1, customers + 1, rows // 4 + 1, dtype=numpy.int32)[order],
        "lo_partkey": random.integers(1, part_count + 1, rows, dtype=numpy.int32),
        "lo_suppkey": random.integers(1, suppliers + 1, rows, dtype=numpy.int32),
        "lo_orderdate": days[place][order],
        "lo_orderpriority": picked(random, PRIORITIES, rows // 4 + 1).take(pyarrow.array(order)),
        "lo_quantity": quantity,
        "lo_extendedprice": price,
        "lo_discount": discount,
        "lo_revenue": (price.astype(numpy.int64) * (100 - discount) // 100).astype(numpy.int32),
        "lo_supplycost": random.integers(50_000, 120_000, rows, dtype=numpy.int32),
        "lo_tax": random.integers(0, 9, rows, dtype=numpy.int32),
        "lo_shipmode": picked(random, MODES, rows),
    }


def generate(scale):
    random = numpy.random.default_rng(1)
    customers, suppliers, part_count = int(30_000 * scale), int(2_000 * scale), int(200_000 * min(scale, 1))
    customer = people(random, "c_cust", "Customer", customers)
    yield "customer", pyarrow.table(customer | {"c_mktsegment": picked(random, SEGMENTS, customers)})
    yield "supplier", pyarrow.table(people(random, "s_supp", "Supplier", suppliers))
    yield "part", pyarrow.table(parts(random, part_count))
    days = dates()
    yield "dates", pyarrow.table(days)
    rows = int(6_000_000 * scale)
    yield "lineorder", pyarrow.table(orders(random, rows, customers, suppliers, part_count, days["d_datekey"]))


def flight_1(name, condition):
    return Query(
        name,
        "select sum(lo_extendedprice * lo_discount) as revenue from lineorder, dates"
        f" where lo_orderdate = d_datekey and {condition}",
    )


def flight_2(name, condition):
    return Query(
        name,
        "select sum(lo_revenue) as revenue, d_year, p_brand1 from lineorder, dates, part, supplier"
        " where lo_orderdate = d_datekey and lo_partkey = p_partkey and lo_suppkey = s_suppkey"
        f" and {condition} group by d_year, p_brand1 order by d_year, p_brand1",
    )


def flight_3(name, level, condition):
    return Query(
        name,
        f"select c_{level}, s_{level}, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates"
        " where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey"
        f" and {condition} group by c_{level}, s_{level}, d_year order by d_year, revenue desc",
    )


def flight_4(name, keys, condition):
    return Query(
        name,
        f"select {keys}, sum(lo_revenue - lo_supplycost) as profit from dates, customer, supplier, part, lineorder"
        " where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey"
        f" and lo_orderdate = d_datekey and {condition} group by {keys} order by {keys}",
    )


def queries(_):
    makers = "(p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2')"
    years = "d_year >= 1992 and d_year <= 1997"
    cities = "('UNITED KI1', 'UNITED KI5')"
    in_cities = f"c_city in {cities} and s_city in {cities}"
    both = "c_region = 'AMERICA' and s_region = 'AMERICA'"
    return [
        flight_1("Q1.1", "d_year = 1993 and lo_discount between 1 and 3 and lo_quantity < 25"),
        flight_1("Q1.2", "d_yearmonthnum = 199401 and lo_discount between 4 and 6 and lo_quantity between 26 and 35"),
        flight_1(
            "Q1.3",
            "d_weeknuminyear = 6 and d_year = 1994 and lo_discount between 5 and 7 and lo_quantity between 26 and 35",
        ),
        flight_2("Q2.1", "p_category = 'MFGR#12' and s_region = 'AMERICA'"),
        flight_2("Q2.2", "p_brand1 between 'MFGR#2221' and 'MFGR#2228' and s_region = 'ASIA'"),
        flight_2("Q2.3", "p_brand1 = 'MFGR#2239' and s_region = 'EUROPE'"),
        flight_3("Q3.1", "nation", f"c_region = 'ASIA' and s_region = 'ASIA' and {years}"),
        flight_3("Q3.2", "city", f"c_nation = 'UNITED STATES' and s_nation = 'UNITED STATES' and {years}"),
        flight_3("Q3.3", "city", f"{in_cities} and {years}"),
        flight_3("Q3.4", "city", f"{in_cities} and d_yearmonth = 'Dec1997'"),
        flight_4("Q4.1", "d_year, c_nation", f"{both} and {makers}"),
        flight_4("Q4.2", "d_year, s_nation, p_category", f"{both} and (d_year = 1997 or d_year = 1998) and {makers}"),
        flight_4(
            "Q4.3",
            "d_year, s_city, p_brand1",
            "c_region = 'AMERICA' and s_nation = 'UNITED STATES' and (d_year = 1997 or d_year = 1998) and p_category = 'MFGR#14'",
        ),
    ]


WORKLOAD = Workload("ssb", 1, 0.5, ("customer", "supplier", "part", "dates", "lineorder"), generate, queries)
