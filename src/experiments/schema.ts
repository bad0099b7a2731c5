/** Experiments as the API shows them, and their limits. */
import { Schema } from "effect"

export const METRICS = ["ctr", "conversion_rate", "revenue_per_search", "zero_result_rate"] as const
export type Metric = (typeof METRICS)[number]
export const UNITS = ["session", "user"] as const
/** Every unit sees one variant, or both rankings in one list. */
export const MODES = ["split", "interleave"] as const
/** Marks responses with both rankings, in place of a variant. */
export const INTERLEAVED = "interleaved"
export const STATUSES = ["draft", "running", "stopped", "promoted", "rolled_back"] as const

export const VARIANTS_MIN = 2
export const VARIANTS_MAX = 8
export const WEIGHT_MAX = 1_000_000
export const MIN_SAMPLE_MAX = 1_000_000
export const DAYS_MAX = 90
export const NAME_CHARACTERS_MAX = 120

const scalars = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Number, Schema.Boolean]))
const anything = Schema.Record(Schema.String, Schema.Unknown)

const variant = {
  name: Schema.String,
  weight: Schema.Number,
  params: Schema.optionalKey(
    scalars.annotate({
      description:
        "Search parameters, merged over the request's and those of its preset or profile. Not `q` or `filter_by`."
    })
  ),
  rules: Schema.optionalKey(
    anything.annotate({ description: "A complete rule set, used instead of the collection's." })
  ),
  profile: Schema.optionalKey(
    Schema.String.annotate({ description: "A profile of the collection, used instead of the one in effect." })
  )
}
const ExperimentVariant = Schema.Struct({ id: Schema.String, ...variant }).annotate({
  identifier: "ExperimentVariant",
  description: "At most one of `params`, `rules` and `profile`; without any the search is unchanged."
})
const ExperimentTarget = Schema.Union([
  Schema.Struct({ preset: Schema.String }),
  Schema.Struct({ profile: Schema.String })
]).annotate({ identifier: "ExperimentTarget" })

const settings = {
  mode: Schema.Literals(MODES),
  metric: Schema.Literals(METRICS),
  traffic: Schema.Number,
  min_sample: Schema.Int,
  minimum_days: Schema.Int,
  covariate_days: Schema.Int,
  unit: Schema.Literals(UNITS)
}
/** Only for the documents; `definition.ts` parses bodies and names every wrong field. */
export const ExperimentBody = Schema.Struct({
  name: Schema.String,
  collection: Schema.String,
  variants: Schema.Array(
    Schema.Struct({
      ...variant,
      id: Schema.optionalKey(Schema.String),
      name: Schema.optionalKey(Schema.String),
      weight: Schema.optionalKey(Schema.Number)
    }).annotate({ identifier: "ExperimentVariantBody" })
  ),
  target: Schema.optionalKey(ExperimentTarget),
  mode: Schema.optionalKey(settings.mode),
  metric: settings.metric,
  traffic: Schema.optionalKey(settings.traffic),
  min_sample: Schema.optionalKey(settings.min_sample),
  minimum_days: Schema.optionalKey(settings.minimum_days),
  covariate_days: Schema.optionalKey(settings.covariate_days),
  unit: Schema.optionalKey(settings.unit)
}).annotate({
  identifier: "ExperimentBody",
  description:
    "2 to 8 variants, the first is the control. Defaults: generated ids, weight 1, `traffic` 1, `min_sample` 1,000 units a variant, `minimum_days` 7, `covariate_days` 14, `unit` session, `mode` split. `mode` interleave merges the rankings of exactly two variants, of rules or profiles, into one list; its `metric` is ctr or conversion_rate. Fields that the service adds to an answer may be sent back and are ignored."
})

export const Experiment = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  collection: Schema.String,
  status: Schema.Literals(STATUSES),
  variants: Schema.Array(ExperimentVariant),
  target: Schema.optionalKey(ExperimentTarget),
  ...settings,
  /** 0 before the first start; seeds are derived from it and the id. */ run: Schema.Int,
  started_at: Schema.NullOr(Schema.Int),
  stopped_at: Schema.NullOr(Schema.Int),
  promoted_variant_id: Schema.optionalKey(Schema.String),
  winner_variant_id: Schema.optionalKey(Schema.String),
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "Experiment" })
export const ExperimentList = Schema.Struct({
  data: Schema.Array(Experiment),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ExperimentList", description: "By id." })

export const PromoteBody = Schema.Struct({ variant_id: Schema.String }).annotate({ identifier: "PromoteExperiment" })

const range = Schema.NullOr(Schema.Tuple([Schema.Number, Schema.Number]))
const known = Schema.NullOr(Schema.Number)
export const ExperimentResults = Schema.Struct({
  experiment_id: Schema.String,
  run: Schema.Int,
  state: Schema.Literals(["collecting", "unhealthy", "ready", "winner", "no_effect"]),
  metric: settings.metric,
  confidence: Schema.Number,
  units: Schema.Int,
  multiple_exposure_share: Schema.Number,
  srm: Schema.Struct({
    p_value: Schema.Number,
    ok: Schema.Boolean,
    /** Smallest p first, as of this evaluation: the alarming dimensions, or the first five. */
    by: Schema.Array(
      Schema.Struct({
        dimension: Schema.Literals(["device", "country", "surface"]),
        /** Null for units without a value. */ value: Schema.NullOr(Schema.String),
        /** By variant. */ units: Schema.Array(Schema.Int),
        p_value: Schema.Number,
        ok: Schema.Boolean
      }).annotate({ identifier: "SampleRatioPart" })
    )
  }).annotate({ identifier: "SampleRatio" }),
  /** Cap on a unit's revenue; null until it is fixed, and for other metrics. */
  revenue_cap: known,
  /** Days of users of the entire organization that were dropped for lack of room and are missing in `cuped`. */
  history_days_dropped: Schema.Int,
  variants: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      units: Schema.Int,
      exposures: Schema.Int,
      searches: Schema.Int,
      conversions: Schema.Int,
      revenue: Schema.Number,
      /** null without searches. */ mean: known,
      lift: known,
      interval: range,
      p_value: known,
      /** Latency in ms within which 95 % of its responses were made, within 2.5 %; null without responses. */
      latency_p95_ms: known,
      /** Unadjusted for the units' past. */
      raw: Schema.Struct({ mean: known, standard_error: known, lift: known, interval: range }).annotate({
        identifier: "RawFigure"
      }),
      /** Share of the variance that the units' earlier actions explain; null if there is no adjustment. */
      cuped: Schema.NullOr(Schema.Struct({ reduction: Schema.Number }).annotate({ identifier: "CupedFigure" }))
    }).annotate({ identifier: "ExperimentVariantResult" })
  ),
  guardrails: Schema.Array(
    Schema.Struct({ metric: Schema.String, ok: Schema.Boolean, p_value: Schema.Number }).annotate({
      identifier: "Guardrail"
    })
  ),
  /** Units that chose more of the second variant's hits (wins), of the first's, or equally many; for `interleave`. */
  interleaving: Schema.NullOr(
    Schema.Struct({ wins: Schema.Int, losses: Schema.Int, ties: Schema.Int, p_value: Schema.Number }).annotate({
      identifier: "Interleaving"
    })
  ),
  winner_variant_id: Schema.NullOr(Schema.String),
  days_to_min_effect: known,
  daily: Schema.Array(
    Schema.Struct({
      date: Schema.String,
      variants: Schema.Array(
        Schema.Struct({ id: Schema.String, exposures: Schema.Int, mean: known, interval: range }).annotate({
          identifier: "DailyVariant"
        })
      )
    }).annotate({ identifier: "DailyResult" })
  )
}).annotate({
  identifier: "ExperimentResults",
  description:
    "Of the latest run. `lift`, `interval` (of the lift) and `p_value` are against the control and stay true however often somebody looks; of several variants they hold together (Holm). `daily`: units that were first answered until the end of the day (UTC), with all they did until now; `exposures` are the day's own."
})
