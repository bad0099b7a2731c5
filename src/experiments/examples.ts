/**
 * Descriptions of the operations of experiments, each with an example request that succeeds (`src/http/operation.ts`).
 */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const params = { experimentId: sampleIds.experiment }
const body = {
  name: "Two typos",
  collection: "products",
  metric: "ctr" as const,
  variants: [
    { id: "as_is", name: "As it is", weight: 1 },
    { id: "two_typos", name: "Two typos", weight: 1, params: { num_typos: 2 } }
  ],
  traffic: 0.5
}
export const described = {
  listExperiments: {
    description: "Lists experiments by id. A page has at most 100, 20 by default. It changes nothing.",
    example: { query: { limit: "20" } }
  },
  createExperiment: {
    description:
      "Keeps an experiment over the searches of a collection, of those that name a preset or a profile (`target`), or of all. It acts when it is started. 2 to 8 variants, 1 MB in all; every wrong field is named in a 400, a collection that does not exist is a 404.",
    example: { body }
  },
  getExperiment: {
    description: "Shows an experiment. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  updateExperiment: {
    description:
      "Replaces what an experiment says; fields that are left out reset. One that runs is a 409: stop it first. Figures of earlier runs stay as they were.",
    example: { params, body: { ...body, traffic: 1 } }
  },
  deleteExperiment: {
    description: "Deletes an experiment and its figures, also what a rollback would need. One that runs is a 409.",
    example: { params: { experimentId: sampleIds.oldExperiment } }
  },
  startExperiment: {
    description:
      "Starts a draft or a stopped experiment: a new run, with seeds and figures of its own. `experiment.started` is sent. 409 where it runs already, or another one runs over the same collection and target, which the message names; 403 where the plan (`experiments_running`) has no room for one more.",
    example: { params: { experimentId: sampleIds.otherExperiment } }
  },
  stopExperiment: {
    description:
      "Stops a running experiment from the next search on; what follows earlier searches still counts. `experiment.stopped` is sent. One that does not run is a 409.",
    example: { params: { experimentId: sampleIds.runningExperiment } }
  },
  promoteExperiment: {
    description:
      "Writes a variant to where it acts for everybody: its `params` into the target's preset, or as a new release of the target's profile where a profile can say them; its `rules` into the collection's; its `profile` as a new release of the target's. A running experiment stops. Sends `experiment.promoted`. 409 from another status, and where there is no place to write; the experiment then stays as it was.",
    example: { params: { experimentId: sampleIds.stoppedExperiment }, body: { variant_id: "better" } }
  },
  rollbackExperimentPromotion: {
    description:
      "Puts back what the promotion replaced, as it was. 409 where nothing is promoted, and where the preset, rules or profile were changed since.",
    example: { params: { experimentId: sampleIds.promotedExperiment } }
  },
  getExperimentResults: {
    description:
      "Shows the figures of the latest run: they may be looked at as often as one likes. One that was never started is a 409. Figures are some seconds behind; the first thing that a search of a run does is in them as soon as analytics have it.",
    example: { params: { experimentId: sampleIds.runningExperiment } }
  }
} as const satisfies Readonly<Record<string, Described>>
