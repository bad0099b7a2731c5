/**
 * Starts jobs that cost credits, which are reserved first, so that the request gets the 402, and returned if no job
 * starts.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Conflict } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import type { AiOperation } from "../metering/ai-prices.ts"
import { Wallet } from "../metering/wallet.ts"
import { makeJobStarter } from "./jobs.ts"
import type { Job } from "./schema.ts"

export type PaidJobError = Conflict | Effect.Error<ReturnType<AiSpending["Service"]["reserveForJob"]>>

/** `quantity` is in the operation's own unit. The reservation is stored in the job's configuration. */
export const makePaidJobStarter = Effect.gen(function* () {
  const jobs = yield* makeJobStarter
  const spending = yield* AiSpending
  const wallet = yield* Wallet
  return Effect.fnUntraced(function* (
    caller: Caller,
    type: string,
    operation: AiOperation,
    quantity: number,
    config: Readonly<Record<string, unknown>>
  ): Effect.fn.Return<Job, PaidJobError> {
    const { organizationId } = caller
    const reservation = yield* spending.reserveForJob(caller, operation, quantity)
    const paid = reservation === undefined ? config : { ...config, reservation }
    const started = jobs.start(organizationId, type, paid, () => jobs.requirePlace(organizationId, type))
    const back =
      reservation === undefined ? Effect.void : Effect.ignore(wallet.release({ ...reservation, organizationId }))
    return yield* Effect.onError(started, () => back).pipe(
      Effect.catchIf((error): error is SqlError.SqlError => error._tag === "SqlError", Effect.die)
    )
  })
})
