/**
 * What every AI operation does around its work, in this order: a unit of the session's allowance (429), then credits
 * (402), which are reserved before, settled by use, and released if the work failed. A price of 0 involves no wallet.
 *
 * A job spends across processes and time: the request makes the reservation, so that the request gets the 402. The
 * reservation is stored in the job's row, is renewed while the job runs, and is settled in the transaction that ends
 * the job. A job that waited longer than a reservation lives reserves again when it starts.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { Caller } from "../identity/caller.ts"
import type { SessionRequired } from "../http/errors.ts"
import { AiAllowance } from "./ai-allowance.ts"
import { type AiOperation, AiPrices, priceOf } from "./ai-prices.ts"
import type { AllowanceExhausted, CreditsExhausted, LimitsUnavailable, WalletUnreachable } from "./errors.ts"
import { RESERVATION_MS, type Reservation, Wallet } from "./wallet.ts"

type Spender = Pick<Caller, "organizationId" | "scope" | "sessionId">
export type SpendingError =
  | AllowanceExhausted
  | CreditsExhausted
  | LimitsUnavailable
  | SessionRequired
  | WalletUnreachable
/** Stored in a job's configuration; absent if the operation is free. */
export type JobReservation = Pick<Reservation, "id" | "amount"> | undefined

type Spent<A> = readonly [answer: A, quantity: number, of?: AiOperation]

interface JobSpending {
  /** Charges at most what was reserved; runs in the transaction that ends the job. */
  readonly settle: (quantity: number) => Effect.Effect<void, SqlError.SqlError>
}

/** For operations whose length the caller decides. */
export interface Meter {
  /** Reserves credits until `quantity` in total, in whole units, is covered; fails if the wallet cannot pay. */
  readonly use: (quantity: number) => Effect.Effect<void, CreditsExhausted | WalletUnreachable>
  /** Without a result: all credits are returned when the scope closes. */ readonly forgive: () => void
}

const RENEW_MS = RESERVATION_MS / 3

export class AiSpending extends Context.Service<
  AiSpending,
  {
    /**
     * Runs the work at the price of at most `quantity`; the effect reports the actual quantity, and the operation if it
     * turned out to be a cheaper one.
     */
    readonly spend: <A, E, R>(
      caller: Spender,
      operation: AiOperation,
      quantity: number,
      effect: Effect.Effect<Spent<A>, E, R>
    ) => Effect.Effect<A, E | SpendingError, R>
    /** Takes a unit of the session now, and credits as they are used; settled with the scope, within 15 minutes. */
    readonly meter: (caller: Spender, operation: AiOperation) => Effect.Effect<Meter, SpendingError, Scope.Scope>
    readonly reserveForJob: (
      caller: Spender,
      operation: AiOperation,
      quantity: number
    ) => Effect.Effect<JobReservation, SpendingError>
    /** Runs a job's work, which settles in the transaction that ends it; releases if it fails or is cancelled. */
    readonly runJob: <A, E, R>(
      organizationId: string,
      operation: AiOperation,
      reservation: JobReservation,
      work: (spending: JobSpending) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | CreditsExhausted | WalletUnreachable, R>
  }
>()("dowser/metering/AiSpending") {
  static readonly layer: Layer.Layer<AiSpending, never, AiAllowance | Wallet> = Layer.effect(
    AiSpending,
    Effect.gen(function* () {
      const allowance = yield* AiAllowance
      const wallet = yield* Wallet
      const prices = yield* AiPrices

      const spend = Effect.fnUntraced(function* <A, E, R>(
        caller: Spender,
        operation: AiOperation,
        quantity: number,
        effect: Effect.Effect<Spent<A>, E, R>
      ) {
        yield* allowance.take(caller, 1)
        const price = priceOf(prices, operation, quantity)
        if (price === 0) return (yield* effect)[0]
        const priced = Effect.map(
          effect,
          ([answer, used, of = operation]) => [answer, Math.min(price, priceOf(prices, of, used))] as const
        )
        return yield* wallet.spending(caller.organizationId, price, operation, priced)
      })
      const meter = Effect.fnUntraced(function* (caller: Spender, operation: AiOperation) {
        yield* allowance.take(caller, 1)
        const held: Array<Reservation> = []
        let isForgiven = false
        yield* Effect.addFinalizer(() =>
          Effect.forEach(held, (each) =>
            Effect.ignore(isForgiven ? wallet.release(each) : wallet.settle(each, each.amount))
          )
        )
        const made: Meter = {
          use: Effect.fnUntraced(function* (quantity: number) {
            const covered = held.reduce((sum, { amount }) => sum + amount, 0)
            const missing = priceOf(prices, operation, quantity) - covered
            if (missing <= 0) return
            yield* Effect.uninterruptible(
              Effect.map(wallet.reserve(caller.organizationId, missing, operation), (each) => void held.push(each))
            )
          }),
          forgive: () => {
            isForgiven = true
          }
        }
        return made
      })
      const reserveForJob = Effect.fnUntraced(function* (caller: Spender, operation: AiOperation, quantity: number) {
        yield* allowance.take(caller, 1)
        const price = priceOf(prices, operation, quantity)
        if (price === 0) return undefined
        const { amount, id } = yield* wallet.reserve(caller.organizationId, price, operation)
        return { id, amount }
      })
      const runJob = Effect.fnUntraced(function* <A, E, R>(
        organizationId: string,
        operation: AiOperation,
        reservation: JobReservation,
        work: (spending: JobSpending) => Effect.Effect<A, E, R>
      ) {
        if (reservation === undefined) return yield* work({ settle: () => Effect.void })
        const known = { ...reservation, organizationId }
        const held = (yield* wallet.renew(known))
          ? known
          : yield* wallet.reserve(organizationId, reservation.amount, operation)
        const renewing = Effect.forever(Effect.andThen(Effect.sleep(RENEW_MS), Effect.ignore(wallet.renew(held))))
        const settle = (quantity: number) =>
          wallet.settleInside(held, Math.min(held.amount, priceOf(prices, operation, quantity)))
        return yield* Effect.onError(Effect.raceFirst(work({ settle }), renewing), () =>
          Effect.ignore(wallet.release(held))
        )
      })
      return AiSpending.of({ spend, meter, reserveForJob, runJob })
    })
  )
}
