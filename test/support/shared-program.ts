/**
 * One program for those files of a worker that need none of their own: each brings its own tenants, and asks for
 * nothing that is of the whole installation, nor writes to its log past the front door. Starting one takes two seconds
 * of processor, and some thirty files would. It ends with the worker's process, as its Postgres does, and its folder
 * goes with the run's.
 */
import { SEARCH_TIME_MAX_MS } from "../../src/gateway/limits.ts"
import type { GatewaySettings } from "../../src/gateway/settings.ts"
import { type Program, startProgram } from "./program.ts"

interface SharedOptions {
  /** As of `startProgram`. */ readonly allowPrivateAddresses?: boolean
}
/** Other files of the worker hold up its thread: the gateway would turn requests away, which has a test of its own. */
const PATIENT: GatewaySettings = { searchTimeMax_ms: SEARCH_TIME_MAX_MS, isShedding: () => false }
const running = new Map<boolean, Promise<Program>>()
const goesOn = () => Promise.resolve()

/** `stop` is there for files that may have one of their own again, and does nothing. */
export const sharedProgram = async ({ allowPrivateAddresses = false }: SharedOptions = {}): Promise<Program> => {
  let program = running.get(allowPrivateAddresses)
  if (program === undefined)
    running.set(allowPrivateAddresses, (program = startProgram({ allowPrivateAddresses, gateway: PATIENT })))
  return { ...(await program), stop: goesOn }
}
