/**
 * Converts changes of units to sums of variants, in SQL: a unit's earlier contribution is subtracted and the new one
 * added, so that squares stay exact whatever is retracted. A unit belongs to the day of its first answer and to the one
 * variant that answered it; a unit answered by two is in neither, and is counted separately.
 *
 * A unit's covariates are its own figures from before the run, as stored in `experiment_histories`. They are read again
 * whenever the unit changes, so they depend only on what was counted and not on the order of arrival.
 */

const FIGURES = ["searches", "no_results", "clicked", "purchased", "revenue"] as const
/** Dimensions by which the split of units is checked separately. */
const DIMENSIONS = ["device", "country", "surface"] as const
/** Number of times that items of each of two interleaved rankings were chosen. */
const CREDITS = ["clicked_a", "clicked_b", "purchased_a", "purchased_b"] as const
const GIVEN = ["unit", "variants", "first_day", ...FIGURES, ...DIMENSIONS, ...CREDITS] as const
const COVARIATES = FIGURES.map((name) => `c_${name}`)
const COLUMNS = [...GIVEN, ...COVARIATES]
const columnsOf = (table: string): string => COLUMNS.map((name) => `${table}.${name}`).join(", ")
/** The rows of one run in table `u`. */
const OF_RUN = "u.organization_id = $1 AND u.experiment_id = $2 AND u.run = $3::int4"
/** The group of a unit that several variants answered. */
const SEVERAL = -1

/** The vote of a unit that chose items from two interleaved rankings: 1 for the second, -1 for the first, else 0. */
const vote = (kind: "clicked" | "purchased"): string =>
  `CASE WHEN c.${kind}_a + c.${kind}_b > 0 THEN sign(c.${kind}_b - c.${kind}_a)::numeric END`
/**
 * Numerators of the metrics over the unit's searches, and the same metric from before the run in integer millionths per
 * search, so that sums are exact; `cap` is that of the run, in millionths.
 */
const METRICS = `(VALUES ('ctr', c.clicked::numeric, 1000000 * c.c_clicked::numeric), ('conversion_rate', c.purchased::numeric, 1000000 * c.c_purchased::numeric),
  ('revenue_per_search', least(c.revenue::numeric, $4::text::numeric), least(c.c_revenue::numeric, $4::text::numeric)),
  ('zero_result_rate', c.no_results::numeric, 1000000 * c.c_no_results::numeric),
  ('vote_ctr', ${vote("clicked")}, 0::numeric), ('vote_conversion_rate', ${vote("purchased")}, 0::numeric)) AS n (metric, x, before),
  LATERAL (SELECT n.metric, n.x, CASE WHEN c.c_searches > 0 THEN div(n.before, c.c_searches) ELSE 0 END AS c, (c.c_searches > 0)::int4 AS known WHERE n.x IS NOT NULL) AS m`
const ADDED = ["n", "x", "xx", "y", "yy", "xy", "c", "cc", "xc", "yc", "known"] as const

const withVariant = (changes: string): string =>
  `SELECT *, CASE WHEN variants & (variants - 1) = 0 THEN log(2, variants)::int4 ELSE ${SEVERAL} END AS variant FROM (${changes}) AS units`

/** Adds `changes`, rows of units with the `sign` that they count with, to the units by dimension and value. */
const addSplits = (changes: string): string => `INSERT INTO experiment_splits AS s
    (organization_id, experiment_id, run, dimension, value, variant, units)
  SELECT $1, $2, $3::int4, d.dimension, d.value, c.variant, sum(c.sign) FROM (${withVariant(changes)}) AS c,
    LATERAL (VALUES ${DIMENSIONS.map((name) => `('${name}', c.${name})`).join(", ")}) AS d (dimension, value)
  GROUP BY d.dimension, d.value, c.variant HAVING sum(c.sign) <> 0
  ON CONFLICT (organization_id, experiment_id, run, dimension, value, variant) DO UPDATE SET units = s.units + EXCLUDED.units`

/** Adds `changes`, rows of units with the `sign` that they count with, to the sums. */
const addChanges = (changes: string): string => `INSERT INTO experiment_sums AS s
    (organization_id, experiment_id, run, variant, day, metric, ${ADDED.join(", ")})
  SELECT $1, $2, $3::int4, c.variant, c.first_day, m.metric, sum(c.sign), sum(c.sign * m.x), sum(c.sign * m.x * m.x),
    sum(c.sign * c.searches), sum(c.sign * c.searches * c.searches::numeric), sum(c.sign * m.x * c.searches),
    sum(c.sign * m.c), sum(c.sign * m.c * m.c), sum(c.sign * m.x * m.c), sum(c.sign * c.searches * m.c), sum(c.sign * m.known)
  FROM (${withVariant(changes)}) AS c, LATERAL ${METRICS}
  GROUP BY c.variant, c.first_day, m.metric
  ON CONFLICT (organization_id, experiment_id, run, variant, day, metric)
    DO UPDATE SET ${ADDED.map((name) => `${name} = s.${name} + EXCLUDED.${name}`).join(", ")}`

/** A unit's figures from the days before the run. */
const covariates = (of: string, from: string, before: string): string => `LATERAL (
      SELECT ${FIGURES.map((name) => `coalesce(sum(h.${name}), 0)::int8 AS c_${name}`).join(", ")} FROM experiment_histories h
      WHERE h.organization_id = $1 AND h.unit = ${of}.unit AND h.day >= ${from}::text::int8 AND h.day < ${before}::text::int8) c`
const TAKEN = `SELECT -1 AS sign, ${columnsOf("b")} FROM before b UNION ALL SELECT 1, ${columnsOf("a")} FROM after a`
/**
 * Applies changes of units: $5 to $12 are their columns, $13 and $14 the days (ms) of the covariates, from and before,
 * null if the run has none; $15 to $17 the dimensions of the units, $18 to $21 their credits. A unit without a known
 * variant is dropped: it was erased, or its run no longer counts units.
 */
export const TAKE_IN = `WITH given AS (
    SELECT * FROM unnest($5::text::int8[], $6::text::int4[], $7::text::int8[], $8::text::int8[], $9::text::int8[], $10::text::int8[], $11::text::int8[], $12::text::int8[], $15::text::text[], $16::text::text[], $17::text::text[], $18::text::int8[], $19::text::int8[], $20::text::int8[], $21::text::int8[]) AS t (${GIVEN.join(", ")})
  ), before AS (
    SELECT ${columnsOf("u")} FROM experiment_units u JOIN given g ON u.unit = g.unit WHERE ${OF_RUN}
  ), after AS (
    SELECT g.unit, coalesce(b.variants, 0) | g.variants AS variants, least(b.first_day, g.first_day) AS first_day,
      ${[...FIGURES, ...CREDITS].map((name) => `coalesce(b.${name}, 0) + g.${name} AS ${name}`).join(", ")},
      ${DIMENSIONS.map((name) => `greatest(b.${name} COLLATE "C", g.${name} COLLATE "C") AS ${name}`).join(", ")}, ${COVARIATES.map((name) => `c.${name}`).join(", ")}
    FROM given g LEFT JOIN before b ON b.unit = g.unit, ${covariates("g", "$13", "$14")}
    WHERE b.unit IS NOT NULL OR g.variants <> 0
  ), kept AS (
    INSERT INTO experiment_units (organization_id, experiment_id, run, ${COLUMNS.join(", ")})
    SELECT $1, $2, $3::int4, ${columnsOf("a")} FROM after a
    ON CONFLICT (organization_id, experiment_id, run, unit)
      DO UPDATE SET ${COLUMNS.slice(1)
        .map((name) => `${name} = EXCLUDED.${name}`)
        .join(", ")}
  ), split AS (${addSplits(TAKEN)})
  ${addChanges(TAKEN)}`

/** Removes units with everything they contributed: $5 are their fingerprints. */
export const TAKE_OUT = `WITH gone AS (
    DELETE FROM experiment_units u WHERE ${OF_RUN} AND u.unit = ANY($5::text::int8[]) RETURNING ${columnsOf("u")}
  ), split AS (${addSplits(`SELECT -1 AS sign, ${columnsOf("g")} FROM gone g`)})
  ${addChanges(`SELECT -1 AS sign, ${columnsOf("g")} FROM gone g`)}`

/** Computes the sums of a run from its units, for example when it gets a cap; its sums must have been removed. */
export const SUM_UP = addChanges(`SELECT 1 AS sign, ${columnsOf("u")} FROM experiment_units u WHERE ${OF_RUN}`)
/** Computes the split by dimensions of a run in the same way. */
export const SPLIT_UP = addSplits(`SELECT 1 AS sign, ${columnsOf("u")} FROM experiment_units u WHERE ${OF_RUN}`)

const SUMMED = [...FIGURES, ...CREDITS]
/** Adds changes of units to those of a replay: $1 is the name of its shadow, $4 to $18 their columns. */
export const SHADOW_IN = `INSERT INTO shadow_experiment_units AS s (shadow, experiment_id, run, ${GIVEN.join(", ")})
  SELECT $1, $2, $3::int4, * FROM unnest($4::text::int8[], $5::text::int4[], $6::text::int8[], $7::text::int8[], $8::text::int8[], $9::text::int8[], $10::text::int8[], $11::text::int8[],
    $12::text::text[], $13::text::text[], $14::text::text[], $15::text::int8[], $16::text::int8[], $17::text::int8[], $18::text::int8[]) AS t (${GIVEN.join(", ")})
  ON CONFLICT (shadow, experiment_id, run, unit) DO UPDATE SET variants = s.variants | EXCLUDED.variants, first_day = least(s.first_day, EXCLUDED.first_day),
    ${SUMMED.map((name) => `${name} = s.${name} + EXCLUDED.${name}`).join(", ")}, ${DIMENSIONS.map((name) => `${name} = greatest(s.${name}, EXCLUDED.${name})`).join(", ")}`
/** Creates the units of a run from shadows ($4), with covariates of the days from $5 on, before $6. */
export const FROM_SHADOWS = `INSERT INTO experiment_units (organization_id, experiment_id, run, ${COLUMNS.join(", ")})
  SELECT $1, $2, $3::int4, ${GIVEN.map((name) => `s.${name}`).join(", ")}, ${COVARIATES.map((name) => `c.${name}`).join(", ")} FROM (
    SELECT unit, bit_or(variants) AS variants, min(first_day) AS first_day, ${SUMMED.map((name) => `sum(${name})::int8 AS ${name}`).join(", ")}, ${DIMENSIONS.map((name) => `max(${name}) AS ${name}`).join(", ")}
    FROM shadow_experiment_units WHERE shadow = ANY($4::text::text[]) AND experiment_id = $2 AND run = $3::int4 GROUP BY unit HAVING bit_or(variants) <> 0) s, ${covariates("s", "$5", "$6")}`
