/**
 * Descriptions of the operations on experiments, each with an example request that succeeds (`src/http/operation.ts`).
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
      "Creates an experiment over the searches of a collection: those that name a preset or a profile (`target`), or all of them. It takes effect when it is started. It has 2 to 8 variants, 1 MB in all; a 400 names every wrong field, and a collection that does not exist is a 404.",
    example: { body }
  },
  getExperiment: {
    description: "Shows an experiment. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  updateExperiment: {
    description:
      "Replaces an experiment; omitted fields return to their defaults. A running experiment is a 409: stop it first. Figures of earlier runs stay as they were.",
    example: { params, body: { ...body, traffic: 1 } }
  },
  deleteExperiment: {
    description:
      "Deletes an experiment with its figures and whatever a rollback would need. A running experiment is a 409.",
    example: { params: { experimentId: sampleIds.oldExperiment } }
  },
  startExperiment: {
    description:
      "Starts a draft or a stopped experiment: a new run, with seeds and figures of its own, and sends `experiment.started`. It is a 409 if it is already running, or if another one is running over the same collection and target, which the message names. It is a 403 if the plan (`experiments_running`) has no room for another.",
    example: { params: { experimentId: sampleIds.otherExperiment } }
  },
  stopExperiment: {
    description:
      "Stops a running experiment from the next search on; events that follow earlier searches still count. `experiment.stopped` is sent. An experiment that is not running is a 409.",
    example: { params: { experimentId: sampleIds.runningExperiment } }
  },
  promoteExperiment: {
    description:
      "Applies a variant for everybody: its `params` go into the target's preset, or into a new release of the target's profile if a profile can express them; its `rules` become the collection's; its `profile` becomes a new release of the target's. A running experiment stops, and `experiment.promoted` is sent. From another status, or without a place to write to, it is a 409, and the experiment stays as it was.",
    example: { params: { experimentId: sampleIds.stoppedExperiment }, body: { variant_id: "better" } }
  },
  rollbackExperimentPromotion: {
    description:
      "Restores what the promotion replaced. It is a 409 if nothing is promoted, or if the preset, rules or profile were changed since.",
    example: { params: { experimentId: sampleIds.promotedExperiment } }
  },
  getExperimentResults: {
    description:
      "Shows the figures of the latest run, which may be read at any time and as often as you like. An experiment that was never started is a 409. Figures are some seconds behind.",
    example: { params: { experimentId: sampleIds.runningExperiment } }
  }
} as const satisfies Readonly<Record<string, Described>>
