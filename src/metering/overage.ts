/**
 * Searches beyond the quota, paid from the wallet: in blocks of a hundred, reserved when the first is wanted and
 * settled by what was used some seconds after the block is used up, a minute old, or the process stops. A process that
 * dies gives its block back by the reservation's end, unpaid.
 *
 * Bound: a block for each organization that searches beyond its quota, gone when it was idle for a minute.
 */
import { Clock, Effect } from "effect"
import { CreditsExhausted, type WalletUnreachable } from "./errors.ts"
import { creditsOf, OVERAGE_PRICE_MICRO } from "./plans.ts"
import { type Reservation, Wallet } from "./wallet.ts"

const BLOCK_UNITS = 100
const BLOCK_MS = 60_000
const LOOK_MS = 5_000
/** Who cannot pay is not asked about again at once. */
const SHORT_MS = 1_000

interface Block {
  readonly reservation: Reservation
  readonly openedAt: number
  left: number
  used: number
}
export type Payment = { readonly giveBack: () => void } | CreditsExhausted | WalletUnreachable

export const makeOverage = Effect.gen(function* () {
  const wallet = yield* Wallet
  const clock = yield* Clock.Clock
  const blocks = new Map<string, Block>()
  const shortUntil = new Map<string, { readonly until: number; readonly error: CreditsExhausted }>()
  const opening = new Map<string, Effect.Effect<unknown>>()

  /** Tried again with every look while the wallet is away, until the reservation is over. */
  const settle = (block: Block) =>
    Effect.flatMap(Effect.result(wallet.settle(block.reservation, block.used * OVERAGE_PRICE_MICRO)), (settled) =>
      Effect.suspend(() => {
        if (settled._tag === "Success")
          return settled.success
            ? Effect.void
            : Effect.logError(
                `${block.used} searches beyond the quota of ${block.reservation.organizationId} were not settled before their reservation was over; they stay unpaid`
              )
        ending.add(block)
        return Effect.logWarning(
          `${block.used} searches beyond the quota of ${block.reservation.organizationId} could not be settled; tried again`,
          settled.failure
        )
      })
    )
  /**
   * Used up or old, and not settled before the next look but one: requests that are under way may still give units
   * back.
   */
  const ending = new Set<Block>()
  let settling: ReadonlyArray<Block> = []
  const end = (block: Block) => {
    if (blocks.get(block.reservation.organizationId) === block) blocks.delete(block.reservation.organizationId)
    ending.add(block)
  }
  const open = Effect.fnUntraced(function* (organizationId: string) {
    const reserve = (units: number) =>
      wallet.reserve(organizationId, units * OVERAGE_PRICE_MICRO, "searches beyond the quota")
    const reservation = yield* Effect.catchTag(reserve(BLOCK_UNITS), "CreditsExhausted", ({ available }) => {
      // The last credits buy what they buy; whole units at least.
      const units = Math.floor(available / creditsOf(OVERAGE_PRICE_MICRO) + 1e-9)
      return reserve(Math.max(1, Math.min(BLOCK_UNITS, units)))
    })
    blocks.set(organizationId, {
      reservation,
      openedAt: clock.currentTimeMillisUnsafe(),
      left: reservation.amount / OVERAGE_PRICE_MICRO,
      used: 0
    })
  })
  const takeFrom = (organizationId: string): Payment | undefined => {
    const block = blocks.get(organizationId)
    if (block === undefined || block.left === 0) return undefined
    block.left--
    block.used++
    return {
      giveBack: () => {
        block.left++
        block.used--
      }
    }
  }
  const pay = (organizationId: string): Effect.Effect<Payment> =>
    Effect.suspend(() => {
      const paid = takeFrom(organizationId)
      if (paid !== undefined) return Effect.succeed(paid)
      const short = shortUntil.get(organizationId)
      if (short !== undefined && clock.currentTimeMillisUnsafe() < short.until) return Effect.succeed(short.error)
      return refill(organizationId)
    })
  const refill = Effect.fnUntraced(function* (organizationId: string) {
    // One block is opened at a time; the others wait for it and try again.
    let running = opening.get(organizationId)
    if (running === undefined) {
      const used = blocks.get(organizationId)
      if (used !== undefined) end(used)
      running = yield* Effect.cached(
        Effect.ensuring(
          Effect.result(open(organizationId)),
          Effect.sync(() => opening.delete(organizationId))
        )
      )
      opening.set(organizationId, running)
    }
    const outcome = (yield* running) as
      | { readonly _tag: "Success" }
      | { readonly _tag: "Failure"; readonly failure: CreditsExhausted | WalletUnreachable }
    if (outcome._tag === "Success") return yield* pay(organizationId)
    if (outcome.failure instanceof CreditsExhausted)
      shortUntil.set(organizationId, { until: clock.currentTimeMillisUnsafe() + SHORT_MS, error: outcome.failure })
    return outcome.failure
  }) as (organizationId: string) => Effect.Effect<Payment>

  yield* Effect.addFinalizer(() =>
    Effect.forEach([...settling, ...ending, ...blocks.values()], settle, { concurrency: 4, discard: true })
  )
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(LOOK_MS),
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          for (const [organizationId, { until }] of shortUntil) if (until < now) shortUntil.delete(organizationId)
          for (const block of blocks.values()) if (now - block.openedAt >= BLOCK_MS) end(block)
          const due = settling
          settling = [...ending]
          ending.clear()
          return Effect.forEach(due, settle, { discard: true })
        })
      )
    )
  )
  return { pay }
})
