/**
 * Exchanges of counters have numbers. A process whose answer was lost checks whether its exchange was done; before,
 * what was used on credit was reported and counted twice.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE counter_exchanges (
    process text NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    given_up bigint NOT NULL DEFAULT 0,
    at bigint NOT NULL,
    PRIMARY KEY (process, kind)
  ) WITH (fillfactor = 50)`
  yield* sql`CREATE INDEX counter_exchanges_at ON counter_exchanges (at)`
  // In addition to the version without a number, which older processes still call. A call that arrives after its
  // successor, or after it was abandoned, fails without effect.
  yield* sql`CREATE FUNCTION counter_exchange(p_number int8, p_kind text, p_process text, p_share int8, p_names text[], p_started int8[], p_kept int8[], p_limits int8[], p_least int8[], p_wish int8[], p_back int8[], p_debt int8[], p_held int8[], p_recalled bool[])
    RETURNS TABLE (o_name text, o_started float8, o_taken float8, o_available float8, o_others float8, o_used float8) LANGUAGE plpgsql AS $function$
    BEGIN
      INSERT INTO counter_exchanges AS e (process, kind, number, at) VALUES (p_process, p_kind, p_number, (extract(epoch FROM clock_timestamp()) * 1000)::int8)
        ON CONFLICT (process, kind) DO UPDATE SET number = excluded.number, at = excluded.at WHERE e.number < excluded.number;
      IF NOT FOUND THEN RAISE EXCEPTION 'exchange % of % was given up', p_number, p_kind; END IF;
      RETURN QUERY SELECT * FROM counter_exchange(p_kind, p_process, p_share, p_names, p_started, p_kept, p_limits, p_least, p_wish, p_back, p_debt, p_held, p_recalled);
    END $function$`
  // Waits for the exchange if it is still in progress, and prevents it from being done later. Returns what the process
  // holds, or no row if the exchange was not done.
  yield* sql`CREATE FUNCTION counter_exchange_outcome(p_number int8, p_kind text, p_process text, p_names text[], p_started int8[])
    RETURNS TABLE (o_name text, o_started float8, o_held float8) LANGUAGE plpgsql AS $function$
    DECLARE
      v_number int8;
      v_given_up int8;
    BEGIN
      INSERT INTO counter_exchanges (process, kind, number, at) VALUES (p_process, p_kind, 0, (extract(epoch FROM clock_timestamp()) * 1000)::int8) ON CONFLICT DO NOTHING;
      SELECT e.number, e.given_up INTO v_number, v_given_up FROM counter_exchanges e WHERE e.process = p_process AND e.kind = p_kind FOR UPDATE;
      IF v_number < p_number THEN
        UPDATE counter_exchanges e SET number = p_number, given_up = p_number WHERE e.process = p_process AND e.kind = p_kind;
        RETURN;
      END IF;
      IF v_given_up = p_number THEN RETURN; END IF;
      RETURN QUERY SELECT u.name, u.started::float8, coalesce(l.held, 0)::float8 FROM unnest(p_names, p_started) AS u(name, started)
        LEFT JOIN counter_leases l ON l.kind = p_kind AND l.name = u.name AND l.started_at = u.started AND l.process = p_process;
    END $function$`
})
