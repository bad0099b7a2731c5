/**
 * The credit wallet: spending is first reserved, then settled by use, and the rest released. Every movement is an entry
 * of the ledger. The balance never falls below zero, however many operations spend concurrently: the statements ensure
 * it and a constraint of the table checks it.
 *
 *   open      reserved, not spent
 *   settled   `used` was taken from the balance, the rest freed
 *   released  nothing was taken: the operation failed
 *   expired   nothing was taken: the spending process died
 *
 * Amounts are integer millionths of a credit. Cost of each movement: one statement, durable.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { NotFound } from "../http/errors.ts"
import { CreditsExhausted, WalletUnreachable } from "./errors.ts"
import { creditsOf } from "./plans.ts"
import { type Balance, makeWalletRepository } from "./wallet-repository.ts"
import type { RowReaders } from "../identity/row-readers.ts"

/** Decision: no operation takes longer, so a reservation that is still open then belongs to a process that died. */
export const RESERVATION_MS = 15 * 60_000
/** How long closed reservations are kept; their ledger entries stay. */
const CLOSED_KEPT_MS = 30 * 86_400_000
const ANSWER_WITHIN_MS = 3_000

export interface Reservation {
  readonly id: string
  readonly organizationId: string
  readonly amount: number
}

/** Maps failures of statements: constraints cannot fail here, so Postgres or the connection to it has failed. */
const reaching = <A, E>(
  effect: Effect.Effect<A, E | SqlError.SqlError>
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | WalletUnreachable> => {
  const unreachable = new WalletUnreachable({
    message: "The credit wallet cannot be reached at the moment; send the request again."
  })
  const timely = Effect.timeoutOrElse(effect, { duration: ANSWER_WITHIN_MS, orElse: () => Effect.fail(unreachable) })
  return Effect.catchIf(
    timely,
    (error): error is SqlError.SqlError => (error as { readonly _tag?: unknown })._tag === "SqlError",
    (error) => Effect.andThen(Effect.logError("The credit wallet cannot be reached", error), Effect.fail(unreachable))
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError> | WalletUnreachable>
}

export class Wallet extends Context.Service<
  Wallet,
  {
    readonly balance: (organizationId: string) => Effect.Effect<Balance, WalletUnreachable>
    /** Idempotent by `reference` if one is given: a second call changes nothing. */
    readonly topUp: (
      organizationId: string,
      amount: number,
      reference: string
    ) => Effect.Effect<Balance, NotFound | WalletUnreachable>
    /** All or nothing. An amount of 0 needs no reservation. */
    readonly reserve: (
      organizationId: string,
      amount: number,
      reference: string
    ) => Effect.Effect<Reservation, CreditsExhausted | WalletUnreachable>
    /** `used` up to the reserved amount. Idempotent: false if it was closed before (settled, released or expired). */
    readonly settle: (reservation: Reservation, used: number) => Effect.Effect<boolean, WalletUnreachable>
    readonly release: (reservation: Reservation) => Effect.Effect<boolean, WalletUnreachable>
    /** Extends its life to that of a new one from now; false if it is closed or overdue. */
    readonly renew: (reservation: Reservation) => Effect.Effect<boolean, WalletUnreachable>
    /** Like `settle`, as a statement of the caller's transaction; a closed reservation is not changed. */
    readonly settleInside: (reservation: Reservation, used: number) => Effect.Effect<void, SqlError.SqlError>
    /**
     * Reserves at most `amount`, runs, settles by the use that the effect reports; releases on failure or interruption.
     */
    readonly spending: <A, E, R>(
      organizationId: string,
      amount: number,
      reference: string,
      effect: Effect.Effect<readonly [answer: A, used: number], E, R>
    ) => Effect.Effect<A, E | CreditsExhausted | WalletUnreachable, R>
  }
>()("dowser/metering/Wallet") {
  static readonly layer: Layer.Layer<Wallet, never, Identifiers | RowReaders | SqlClient.SqlClient> = Layer.effect(
    Wallet,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const identifiers = yield* Identifiers
      const repository = yield* makeWalletRepository
      const audit = yield* makeAuditRecorder
      const balance = (organizationId: string) => reaching(repository.balance(organizationId))

      const reserve = Effect.fn("Wallet.reserve")(function* (
        organizationId: string,
        amount: number,
        reference: string
      ) {
        const id = yield* identifiers.make("rsv")
        const now = yield* Clock.currentTimeMillis
        if (!(yield* reaching(repository.reserve(id, organizationId, amount, reference, now, now + RESERVATION_MS)))) {
          const { balance: held, reserved } = yield* balance(organizationId)
          return yield* new CreditsExhausted({
            message: "The credits of the wallet do not cover this operation.",
            available: creditsOf(held - reserved),
            requested: creditsOf(amount)
          })
        }
        return { id, organizationId, amount }
      })
      const close = Effect.fn("Wallet.close")(function* (
        { amount, id }: Reservation,
        how: "settle" | "release",
        used: number
      ) {
        if (!Number.isInteger(used) || used < 0 || used > amount)
          return yield* Effect.die(new Error(`${used} of a reservation of ${amount}`))
        return yield* reaching(repository.close(id, how, used, yield* Clock.currentTimeMillis))
      })
      const release = (reservation: Reservation) => close(reservation, "release", 0)
      return Wallet.of({
        balance,
        topUp: Effect.fn("Wallet.topUp")(function* (organizationId, amount, reference) {
          const now = yield* Clock.currentTimeMillis
          const booked = sql.withTransaction(
            Effect.gen(function* () {
              // Serializes top-ups of an organization, so that of two with one reference the second sees the first.
              if (
                (yield* sql`SELECT id FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`).length === 0
              )
                return yield* new NotFound({ message: `Organization ${organizationId} does not exist.` })
              if (reference !== "" && (yield* repository.isBooked(organizationId, reference)))
                return yield* repository.balance(organizationId)
              return yield* audit.recorded(
                { kind: "wallet", organizationId, id: organizationId },
                repository.topUp(organizationId, amount, reference, now)
              )
            })
          )
          return yield* reaching(booked)
        }),
        reserve,
        settle: (reservation, used) => close(reservation, "settle", used),
        release,
        renew: Effect.fnUntraced(function* ({ id }) {
          const now = yield* Clock.currentTimeMillis
          return yield* reaching(repository.renew(id, now, now + RESERVATION_MS))
        }),
        settleInside: Effect.fnUntraced(function* ({ id }, used) {
          yield* repository.close(id, "settle", used, yield* Clock.currentTimeMillis)
        }),
        spending: (organizationId, amount, reference, effect) =>
          Effect.uninterruptibleMask((restore) =>
            Effect.gen(function* () {
              const reservation = yield* reserve(organizationId, amount, reference)
              const [answer, used] = yield* Effect.onError(restore(effect), () => Effect.ignore(release(reservation)))
              if (!(yield* close(reservation, "settle", used)))
                yield* Effect.logWarning(
                  `A reservation of ${organizationId} was used after it had expired: ${reference}`
                )
              return answer
            })
          )
      })
    })
  )
}

/** Releases reservations of dead processes, and deletes what was closed long ago; returns how many rows. */
export const expireReservations = Effect.fnUntraced(function* (rowsMax: number) {
  const repository = yield* makeWalletRepository
  const now = yield* Clock.currentTimeMillis
  const overdue = yield* repository.overdue(now, rowsMax)
  // One at a time: each locks one wallet, so two sweeps never deadlock.
  for (const id of overdue) yield* repository.close(id, "expire", 0, now)
  return overdue.length + (yield* repository.forget(now - CLOSED_KEPT_MS, rowsMax))
})
