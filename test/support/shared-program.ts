/**
 * One program for those files of a worker that do not need their own: each creates its own tenants, reads nothing that
 * concerns the whole installation, and writes to the log only through the API. Starting a program takes two seconds of
 * processor time, and some thirty files would do it. It ends with the worker's process, as its Postgres does, and its
 * folder is removed with the run's.
 */
import { SEARCH_TIME_MAX_MS } from "../../src/gateway/limits.ts"
import type { GatewaySettings } from "../../src/gateway/settings.ts"
import { type Program, startProgram } from "./program.ts"

interface SharedOptions {
  /** As in `startProgram`. */ readonly allowPrivateAddresses?: boolean
}
/** Other files of the worker block its thread: the gateway would reject requests, which has a test of its own. */
const PATIENT: GatewaySettings = { searchTimeMax_ms: SEARCH_TIME_MAX_MS, isShedding: () => false }
const running = new Map<boolean, Promise<Program>>()
const goesOn = () => Promise.resolve()

/** `stop` exists for files that may have their own program again, and does nothing. */
export const sharedProgram = async ({ allowPrivateAddresses = false }: SharedOptions = {}): Promise<Program> => {
  let program = running.get(allowPrivateAddresses)
  if (program === undefined)
    running.set(allowPrivateAddresses, (program = startProgram({ allowPrivateAddresses, gateway: PATIENT })))
  return { ...(await program), stop: goesOn }
}
