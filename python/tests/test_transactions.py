"""Transactions of several statements."""

import threading

import pytest

import morseldb


@pytest.fixture
def account(con):
    con.execute("create table account (id int primary key, owner text, balance int)")
    con.executemany("insert into account values (?, ?, ?)", [(1, "Ann", 100), (2, "Bob", 100)])
    return con


def balances(con):
    return con.execute("select balance from account order by id").fetchall()


def test_commit_and_rollback(account):
    other = account.cursor()
    account.begin()
    account.execute("update account set balance = balance - 10 where id = 1")
    account.execute("update account set balance = balance + 10 where id = 2")
    assert account.rowcount == 1
    assert balances(account) == [(90,), (110,)]
    assert balances(other) == [(100,), (100,)]
    account.commit()
    assert balances(other) == [(90,), (110,)]
    account.begin()
    account.execute("delete from account")
    account.rollback()
    assert balances(account) == [(90,), (110,)]


def test_with_block(account):
    with account.transaction():
        account.execute("insert into account values (3, 'Cy', 5)")
    with pytest.raises(ZeroDivisionError), account.transaction(isolation="repeatable read"):
        account.execute("delete from account where id = 3")
        1 / 0  # noqa: B018
    assert balances(account) == [(100,), (100,), (5,)]
    with pytest.raises(morseldb.Error) as caught, account.transaction(read_only=True):
        account.execute("delete from account")
    assert caught.value.sqlstate == "25006"
    with pytest.raises(morseldb.ProgrammingError, match="isolation"):
        account.begin(isolation="chaos; drop table account")
    assert len(balances(account)) == 3


def test_a_failed_transaction(account):
    account.begin()
    with pytest.raises(morseldb.IntegrityError):
        account.execute("insert into account values (1, 'again', 0)")
    with pytest.raises(morseldb.Error) as caught:
        account.execute("select 1")
    assert caught.value.sqlstate == "25P02"
    account.rollback()
    assert account.execute("select 1").fetchone() == (1,)


def test_write_skew(account):
    other = account.cursor()
    for one in (account, other):
        one.begin()
        assert one.execute("select sum(balance) from account").fetchone() == (200,)
    account.execute("update account set balance = -50 where id = 1")
    other.execute("update account set balance = -50 where id = 2")
    account.commit()
    with pytest.raises(morseldb.OperationalError) as caught:
        other.commit()
    assert caught.value.sqlstate == "40001"
    assert balances(other) == [(-50,), (100,)]


def test_data_frames_in_a_transaction(account):
    pandas = pytest.importorskip("pandas")
    more = pandas.DataFrame({"id": [7, 8], "owner": ["Di", "Ed"], "balance": [1, 2]})
    with account.transaction():
        account.execute("insert into account select * from more returning id")
        assert account.fetchall() == [(7,), (8,)]
        account.execute("update account set balance = more.balance * 100 from more where more.id = account.id")
    assert balances(account) == [(100,), (100,), (100,), (200,)]


def test_threads_that_collide(account):
    """Statements alone are tried again until they succeed."""

    def add():
        cursor = account.cursor()
        for _ in range(50):
            cursor.execute("update account set balance = balance + 1 where id = 1")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert balances(account) == [(300,), (100,)]
