//! The five transactions as procedures (clause 2).

/// What makes them.
pub const PROCEDURES: &str = "
CREATE PROCEDURE new_order(w integer, d integer, c integer, items integer[], supplies integer[], quantities integer[],
    entry timestamp, OUT order_id integer, OUT total numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE
    w_rate numeric(4,4); d_rate numeric(4,4); discount numeric(4,4); name varchar(16); credit char(2);
    lines integer := array_length(items, 1); is_local integer := 1; is_remote integer;
    item_id integer; supply integer; quantity integer; price numeric(5,2); item_name varchar(24); item_data varchar(50);
    info char(24); amount numeric(6,2);
BEGIN
    SELECT w_tax INTO w_rate FROM warehouse WHERE w_id = w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
        RETURNING d_tax, d_next_o_id - 1 INTO d_rate, order_id;
    SELECT c_discount, c_last, c_credit INTO discount, name, credit FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    FOR n IN 1..lines LOOP
        IF supplies[n] <> w THEN is_local := 0; END IF;
    END LOOP;
    INSERT INTO orders VALUES (order_id, d, w, c, entry, NULL, lines, is_local);
    INSERT INTO new_order VALUES (order_id, d, w);
    total := 0;
    FOR n IN 1..lines LOOP
        item_id := items[n];
        supply := supplies[n];
        quantity := quantities[n];
        SELECT i_price, i_name, i_data INTO price, item_name, item_data FROM item WHERE i_id = item_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Item number is not valid' USING ERRCODE = 'no_data_found';
        END IF;
        is_remote := 0;
        IF supply <> w THEN is_remote := 1; END IF;
        UPDATE stock SET s_quantity = s_quantity - quantity + CASE WHEN s_quantity - quantity < 10 THEN 91 ELSE 0 END,
            s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + is_remote
            WHERE s_w_id = supply AND s_i_id = item_id
            RETURNING CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END INTO info;
        amount := quantity * price;
        INSERT INTO order_line VALUES (order_id, d, w, n, item_id, supply, NULL, quantity, amount, info);
        total := total + amount;
    END LOOP;
    total := total * (1 - discount) * (1 + w_rate + d_rate);
END $$;

CREATE PROCEDURE customer_named(w integer, d integer, name text, OUT c integer) LANGUAGE plpgsql AS $$
DECLARE many integer := 0; seen integer := 0; found_id integer;
BEGIN
    SELECT count(*) INTO many FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name;
    FOR found_id IN SELECT c_id FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name ORDER BY c_first LOOP
        seen := seen + 1;
        c := found_id;
        EXIT WHEN seen * 2 >= many;
    END LOOP;
END $$;

CREATE PROCEDURE payment(w integer, d integer, c_w integer, c_d integer, customer_id integer, name text, amount numeric(6,2),
    moment timestamp, OUT balance numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE c integer := customer_id; w_named varchar(10); d_named varchar(10); credit char(2); old_data varchar(500);
    new_data text; note varchar(24);
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO w_named;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d RETURNING d_name INTO d_named;
    IF c IS NULL THEN
        CALL customer_named(c_w, c_d, name, c);
    END IF;
    IF c IS NULL THEN RAISE no_data_found; END IF;
    UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = c
        RETURNING c_balance, c_credit, c_data INTO balance, credit, old_data;
    IF credit = 'BC' THEN
        new_data := left(c || ' ' || c_d || ' ' || c_w || ' ' || d || ' ' || w || ' ' || amount || ' ' || old_data, 500);
        UPDATE customer SET c_data = new_data WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = c;
    END IF;
    note := w_named || '    ' || d_named;
    INSERT INTO history VALUES (c, c_d, c_w, d, w, moment, amount, note);
END $$;

CREATE PROCEDURE order_status(w integer, d integer, customer_id integer, name text, OUT balance numeric(12,2),
    OUT order_id integer, OUT lines integer) LANGUAGE plpgsql AS $$
DECLARE c integer := customer_id; carrier integer; entry timestamp; l record;
BEGIN
    IF c IS NULL THEN
        CALL customer_named(w, d, name, c);
    END IF;
    SELECT c_balance INTO balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    SELECT o_id, o_carrier_id, o_entry_d INTO order_id, carrier, entry FROM orders
        WHERE o_w_id = w AND o_d_id = d AND o_c_id = c ORDER BY o_id DESC LIMIT 1;
    lines := 0;
    FOR l IN SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = order_id LOOP
        lines := lines + 1;
    END LOOP;
END $$;

CREATE PROCEDURE delivery(w integer, carrier integer, moment timestamp, OUT delivered integer) LANGUAGE plpgsql AS $$
DECLARE o integer; c integer; amount numeric(12,2);
BEGIN
    delivered := 0;
    FOR d IN 1..10 LOOP
        SELECT no_o_id INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
        UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o RETURNING o_c_id INTO c;
        SELECT sum(ol_amount) INTO amount FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        UPDATE order_line SET ol_delivery_d = moment WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = c;
        delivered := delivered + 1;
    END LOOP;
END $$;

CREATE PROCEDURE stock_level(w integer, d integer, threshold integer, OUT low bigint) LANGUAGE plpgsql AS $$
DECLARE next_order integer; first_order integer;
BEGIN
    SELECT d_next_o_id INTO next_order FROM district WHERE d_w_id = w AND d_id = d;
    first_order := next_order - 20;
    SELECT count(DISTINCT s_i_id) INTO low FROM order_line, stock
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id < next_order AND ol_o_id >= first_order
        AND s_w_id = w AND s_i_id = ol_i_id AND s_quantity < threshold;
END $$;
";
