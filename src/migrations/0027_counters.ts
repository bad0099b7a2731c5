/**
 * Budgets of a window (a key's minute, an organization's month) that several processes share. `granted` is what was
 * used or leased; a lease records how much of that its process has not used yet. The units of a lease that is removed
 * count as used, so a process that dies costs the budget and never adds to it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE counter_windows (
    kind text NOT NULL,
    name text NOT NULL,
    started_at bigint NOT NULL,
    kept_until bigint NOT NULL,
    granted bigint NOT NULL CHECK (granted >= 0),
    PRIMARY KEY (kind, name, started_at)
  ) WITH (fillfactor = 50)`
  yield* sql`CREATE INDEX counter_windows_kept ON counter_windows (kept_until)`
  yield* sql`CREATE TABLE counter_leases (
    kind text NOT NULL,
    name text NOT NULL,
    started_at bigint NOT NULL,
    process text NOT NULL,
    held bigint NOT NULL,
    seen_at bigint NOT NULL,
    PRIMARY KEY (kind, name, started_at, process)
  ) WITH (fillfactor = 50)`
  yield* sql`CREATE INDEX counter_leases_process ON counter_leases (process)`
  yield* sql`CREATE INDEX counter_leases_seen ON counter_leases (seen_at)`
  // Takes a process's report on many budgets in one round trip: units returned, used on credit, and requested. At least
  // `least` is granted if available (requests wait for it), plus a share of the rest. Rows are locked in one order.
  yield* sql`CREATE FUNCTION counter_exchange(p_kind text, p_process text, p_share int8, p_names text[], p_started int8[], p_kept int8[], p_limits int8[], p_least int8[], p_wish int8[], p_back int8[], p_debt int8[], p_held int8[], p_recalled bool[])
    RETURNS TABLE (o_name text, o_started float8, o_taken float8, o_available float8, o_others float8, o_used float8) LANGUAGE plpgsql AS $function$
    #variable_conflict use_column
    DECLARE
      asked record;
      v_total int8;
      v_available int8;
      v_taken int8;
      v_others int8;
      v_now int8 := (extract(epoch FROM clock_timestamp()) * 1000)::int8;
    BEGIN
      FOR asked IN SELECT * FROM unnest(p_names, p_started, p_kept, p_limits, p_least, p_wish, p_back, p_debt, p_held, p_recalled)
        AS u(name, started, kept, lim, least_units, wish, back, debt, held, recalled) ORDER BY u.name, u.started
      LOOP
        INSERT INTO counter_windows (kind, name, started_at, kept_until, granted) VALUES (p_kind, asked.name, asked.started, asked.kept, 0) ON CONFLICT DO NOTHING;
        SELECT w.granted INTO v_total FROM counter_windows w WHERE w.kind = p_kind AND w.name = asked.name AND w.started_at = asked.started FOR UPDATE;
        v_total := greatest(0, v_total - asked.back) + asked.debt;
        v_available := greatest(0, asked.lim - v_total);
        v_taken := least(v_available, greatest(asked.least_units, least(asked.wish, v_available / p_share)));
        UPDATE counter_windows w SET granted = v_total + v_taken WHERE w.kind = p_kind AND w.name = asked.name AND w.started_at = asked.started;
        IF asked.held + v_taken > 0 THEN
          INSERT INTO counter_leases AS l (kind, name, started_at, process, held, seen_at) VALUES (p_kind, asked.name, asked.started, p_process, asked.held + v_taken, v_now)
            ON CONFLICT (kind, name, started_at, process) DO UPDATE SET held = excluded.held, seen_at = excluded.seen_at;
        ELSE
          DELETE FROM counter_leases l WHERE l.kind = p_kind AND l.name = asked.name AND l.started_at = asked.started AND l.process = p_process;
        END IF;
        SELECT coalesce(sum(l.held), 0)::int8 INTO v_others FROM counter_leases l WHERE l.kind = p_kind AND l.name = asked.name AND l.started_at = asked.started AND l.process <> p_process;
        IF v_taken < asked.least_units AND v_others > 0 THEN
          PERFORM pg_notify('dowser_counters', json_build_array('recall', p_kind, asked.name, p_process)::text);
        END IF;
        IF asked.recalled THEN PERFORM pg_notify('dowser_counters', json_build_array('returned', p_kind, asked.name, p_process)::text); END IF;
        o_name := asked.name; o_started := asked.started; o_taken := v_taken; o_available := v_available - v_taken; o_others := v_others;
        o_used := v_total + v_taken - v_others - asked.held - v_taken;
        RETURN NEXT;
      END LOOP;
    END $function$`
})
