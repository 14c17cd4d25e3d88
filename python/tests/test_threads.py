"""Threads, interrupts, signals."""

import _thread
import os
import signal
import threading
import time
from random import Random

import pyarrow
import pytest

import morseldb

# Longer than any test waits.
SLOW = "select count(*) from big a, (select n from big where n < 5000) b where a.n + b.n = -1"


def test_cursors_in_threads(big):
    results = []

    def work(cursor, k):
        results.append(cursor.execute("select count(*) from big where n % 7 = ?", [k]).fetchone()[0])

    threads = [threading.Thread(target=work, args=(big.cursor(), k)) for k in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(results) == 500_000


def test_frames_of_threads_with_the_same_name(con):
    """Each cursor sees the frame of its own caller."""
    wrong = []

    def work(cursor, k):
        frame = pyarrow.table({"a": [k]})  # noqa: F841
        for _ in range(50):
            value = cursor.execute("select a from frame").fetchone()[0]
            if value != k:
                wrong.append((k, value))

    threads = [threading.Thread(target=work, args=(con.cursor(), k)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_gil_is_released(big):
    stopped = threading.Event()
    ticks = []

    def tick():
        while not stopped.wait(0.01):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    while time.monotonic() - begin < 0.5:
        big.execute("select count(distinct n), sum(n) from big").fetchall()
    stopped.set()
    thread.join()
    assert len(ticks) >= 10


def test_interrupt(big):
    timer = threading.Timer(0.3, big.interrupt)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(morseldb.OperationalError) as raised:
        big.execute(SLOW).fetchall()
    timer.join()
    assert raised.value.sqlstate == "57014"
    assert time.monotonic() - begin < 10
    assert big.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("of_cursor", [False, True])
def test_interrupting_a_connection_stops_its_cursors(big, of_cursor):
    cursors = [big.cursor().cursor() if of_cursor else big.cursor() for _ in range(2)]
    states = []

    def work(cursor):
        try:
            cursor.execute(SLOW).fetchall()
        except morseldb.OperationalError as error:
            states.append(error.sqlstate)

    threads = [threading.Thread(target=work, args=(cursor,)) for cursor in cursors]
    for thread in threads:
        thread.start()
    begin = time.monotonic()
    while any(thread.is_alive() for thread in threads) and time.monotonic() - begin < 10:
        time.sleep(0.2)
        big.interrupt()
    for thread in threads:
        thread.join()
    assert states == ["57014", "57014"]
    assert time.monotonic() - begin < 10
    assert cursors[0].execute("select 1").fetchone() == (1,)


def test_closing_stops_statements_of_other_threads(big):
    """Either all rows arrive or an error."""
    outcomes = []

    def work(cursor, sql):
        try:
            outcomes.append(len(cursor.execute(sql).fetchall()))
        except (morseldb.InterfaceError, morseldb.OperationalError):
            outcomes.append("stopped")

    statements = ["select n, n::text from big", SLOW, "create table result as " + SLOW]
    threads = [threading.Thread(target=work, args=(big.cursor(), sql)) for sql in statements]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    begin = time.monotonic()
    big.close()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begin < 10
    assert outcomes.count("stopped") >= 2 and set(outcomes) <= {"stopped", 500_000}


def test_no_interrupt_is_lost(big):
    """However early it comes after a call has begun: here, before its first statement runs."""
    begun = time.monotonic()
    for _ in range(20):
        calls = []
        cursor = big.cursor()

        class Found:
            """A table that is looked for in the middle of a call."""

            def __arrow_c_stream__(self, requested_schema=None):
                calls.append(cursor.interrupt())
                return morseldb.sql("select 1 as a").__arrow_c_stream__()

        found = Found()  # noqa: F841 - a table
        with pytest.raises(morseldb.OperationalError) as raised:
            cursor.execute("select count(*) from found, big a, big b where a.n * b.n % 7 = found.a").fetchall()
        assert (raised.value.sqlstate, len(calls)) == ("57014", 1)
    assert time.monotonic() - begun < 60


def test_control_c_while_rows_are_ready(con):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begin = time.monotonic()
    con.execute("create table few as select 1 as n from (values (1), (2), (3), (4), (5), (6), (7), (8)) v(x)")
    many = ", ".join(f"few t{i}" for i in range(9))
    with pytest.raises(KeyboardInterrupt):
        con.execute(f"select t0.n from {many}").fetchall()
    timer.join()
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("sql", [SLOW, "create table result as " + SLOW])
def test_control_c(big, sql):
    # Programs started in the background of a shell ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        big.execute(sql).fetchall()
    timer.join()
    assert time.monotonic() - begin < 10
    assert big.execute("select count(*) from big").fetchone() == (500_000,)


def test_control_c_at_any_time(big):
    """While a call begins, plans, compiles or runs: it ends, what it would have made is not there, the session goes on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    many = ", ".join(f"sum(a.n * {i} + b.n) as s{i}" for i in range(60))
    wide = f"select {many} from big a, big b"
    long = f"select * from (values {', '.join(['(1)'] * 5000)}) v(x), big a, big b"
    statements = [SLOW, "create table made as " + SLOW, wide, long]
    random = Random(1)
    for number in range(130):
        begins = threading.Event()

        def strike(delay=random.uniform(0, 0.003) if number % 2 else random.uniform(0, 0.05)):
            begins.wait()
            time.sleep(delay)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=strike)
        thread.start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            begins.set()
            big.execute(statements[number % len(statements)]).fetchall()
            time.sleep(60)
        thread.join()
        assert time.monotonic() - begin < 10, number
        assert big.execute("select count(*) from big").fetchone() == (500_000,)
    with pytest.raises(morseldb.ProgrammingError):
        big.execute("select * from made")


def test_dropped_results_stop(big):
    begin = time.monotonic()
    for _ in range(20):
        big.execute("select a.n from big a, (select n from big where n < 1000) b where a.n >= b.n").fetchone()
    big.close()
    assert time.monotonic() - begin < 20


def test_an_interrupt_while_a_frame_is_read(con):
    """Between two attempts of one call."""

    class Slow:
        def __arrow_c_stream__(self, requested_schema=None):
            con.interrupt()
            return pyarrow.table({"a": [1]}).__arrow_c_stream__(requested_schema)

    slow = Slow()  # noqa: F841
    with pytest.raises(morseldb.OperationalError) as raised:
        con.execute("select a from slow")
    assert raised.value.sqlstate == "57014"
    assert con.execute("select 1").fetchone() == (1,)


def test_a_forked_process_is_refused(big):
    started = big.execute("select n, n from big order by n")
    refused = [
        lambda: big.execute("select count(distinct n) from big"),
        lambda: big.cursor().execute("select count(distinct n) from big").fetchall(),
        lambda: big.cursor().execute("create table forked as select * from big"),
        lambda: started.fetchall(),
    ]
    for attempt in refused:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                attempt()
            except morseldb.OperationalError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert big.execute("select count(*) from big").fetchone() == (500_000,)


def test_a_forked_process_may_connect_anew():
    con = morseldb.connect(threads=2)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        con = morseldb.connect(threads=2)
        con.execute("create table t as select 1 as a")
        os._exit(7 if con.execute("select a from t").fetchone() == (1,) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert con.execute("select 2").fetchone() == (2,)
