/** The data of one running pull, and how it ends if it cannot continue. */
import { type ClaimedJob, JobFailed } from "../../jobs/job-worker.ts"
import { storableText } from "../../texts/storable-text.ts"
import type { StoredConnector } from "../connectors-repository.ts"

export interface PullConfig {
  readonly connector_id: string
  readonly collection: string
  readonly full: boolean
  readonly confirm_deletes: boolean
}
export interface Pull {
  readonly job: ClaimedJob
  readonly config: PullConfig
  readonly connector: StoredConnector
  readonly started_at: number
}
const MESSAGE_CHARACTERS_MAX = 1_000
/** The message may contain a shop system's own words. */
export const failed = (message: string) => new JobFailed({ message: storableText(message, MESSAGE_CHARACTERS_MAX) })
/** Prefix of the signatures of its pushes. */
export const prefixOf = (jobId: string): string => `pull ${jobId} `
/** Limit of products in one catalogue. */
export const ITEMS_MAX = 2_000_000
/** Limit of a pull's unapplied pushes: further pages wait, so that a catalogue does not fill the log. */
export const WAITING_MAX = 8
