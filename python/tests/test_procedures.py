"""Procedures, notices and types of users' own."""

from decimal import Decimal

import pytest

import morseldb

TRANSFER = """
    CREATE PROCEDURE transfer(source int, target int, amount numeric(12,2), OUT left_over numeric(12,2))
    LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - amount WHERE id = source RETURNING balance INTO left_over;
        IF left_over < 0 THEN
            RAISE EXCEPTION 'account % has too little', source USING ERRCODE = 'check_violation';
        END IF;
        UPDATE account SET balance = balance + amount WHERE id = target;
        RAISE NOTICE 'moved %', amount;
    END $$
"""


def bank():
    con = morseldb.connect()
    con.execute("CREATE TABLE account (id int PRIMARY KEY, balance numeric(12,2))")
    con.execute("INSERT INTO account VALUES (1, 100), (2, 50)")
    con.execute(TRANSFER)
    return con


def test_callproc_returns_the_arguments_with_what_came_back():
    con = bank()
    assert con.callproc("transfer", [1, 2, 10, None]) == [1, 2, 10, Decimal("90.00")]
    assert con.execute("CALL transfer(1, 2, 5, NULL)").fetchall() == [(Decimal("85.00"),)]
    assert con.notices == ["NOTICE:  moved 10.00", "NOTICE:  moved 5.00"]


def test_a_call_that_fails_leaves_nothing():
    con = bank()
    with pytest.raises(morseldb.Error, match="account 1 has too little") as raised:
        con.callproc("transfer", [1, 2, 1000, None])
    assert raised.value.sqlstate == "23514"
    assert con.execute("SELECT balance FROM account ORDER BY id").fetchall() == [(100,), (50,)]


def test_enums_are_texts_and_categories():
    con = morseldb.connect()
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    assert con.execute("SELECT 'ok'::mood, ARRAY['sad']::mood[]").fetchone() == ("ok", ["sad"])
    frame = con.sql("SELECT x::mood AS mood FROM (VALUES ('ok'), ('sad')) t(x) ORDER BY 1").df()
    assert list(frame["mood"]) == ["sad", "ok"]
