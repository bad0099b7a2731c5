/** Experiments, which find out which of several ways to search serves visitors best. */
import { Effect, Layer } from "effect"
import { textIn } from "../http/json-fields.ts"
import { type Measure, single } from "../metrics/measure.ts"
import { defineRoom, type Seeds } from "../room.ts"
import { Experiments } from "./experiments.ts"
import { migrations } from "./migrations.ts"
import { routes } from "./routes.ts"
import { expireHistories, expireUnits } from "./runs-repository.ts"
import { watch } from "./watch.ts"

const body = {
  name: "experiment",
  collection: "goods",
  metric: "ctr",
  variants: [{ name: "as it is" }, { name: "two typos", params: { num_typos: 2 } }]
}
const seeds: Seeds = {
  createExperiment: [body, { ...body, unit: "user", traffic: 0.5, min_sample: 10, minimum_days: 0 }],
  updateExperiment: [body],
  promoteExperiment: [{ variant_id: "variant_1" }]
}
const metrics = Effect.map(Experiments, ({ running }): ReadonlyArray<Measure> => [
  {
    name: "dowser_experiments_running",
    type: "gauge",
    help: "Experiments of all organizations that run.",
    read: Effect.sync(() => single(running.size))
  }
])

export const room = defineRoom({
  name: "experiments",
  routes,
  metrics,
  seeds,
  migrations,
  groups: { experiments: "Ways to search, each shown to some visitors, and what they did." },
  engineGroups: ["experiments"],
  reaches: {
    listExperiments: "filtered",
    createExperiment: ({ body: asked }) => textIn(asked, "collection"),
    getExperiment: "filtered",
    updateExperiment: ({ body: asked }) => textIn(asked, "collection"),
    deleteExperiment: "filtered",
    startExperiment: "filtered",
    stopExperiment: "filtered",
    promoteExperiment: "filtered",
    rollbackExperimentPromotion: "filtered",
    getExperimentResults: "filtered"
  },
  roles: {
    listExperiments: "member",
    createExperiment: "admin",
    getExperiment: "member",
    updateExperiment: "admin",
    deleteExperiment: "admin",
    startExperiment: "admin",
    stopExperiment: "admin",
    promoteExperiment: "admin",
    rollbackExperimentPromotion: "admin",
    getExperimentResults: "member"
  },
  layer: Layer.provideMerge(Layer.effectDiscard(watch), Experiments.layer),
  features: { experiments_running: { free: 1, standard: 20, unlimited: true } },
  expiries: [expireUnits, expireHistories],
  audited: {
    experiment: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'definition', definition, 'status', status, 'run', run, 'started_at', started_at, 'stopped_at', stopped_at, 'winner_variant_id', winner_variant_id, 'promoted_variant_id', promotion->>'variant_id', 'updated_at', updated_at)::text AS row
        FROM experiments WHERE organization_id = ${organizationId} AND id = ${id}`
  }
})
