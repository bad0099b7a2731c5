/**
 * Searches beyond the quota, paid from the wallet in blocks of a hundred. A block is reserved when its first search is
 * needed and settled by use some seconds after it is used up, is a minute old, or the process stops. The block of a
 * process that dies is released, unpaid, when its reservation ends.
 *
 * Bound: a block for each organization that searches beyond its quota, dropped after an idle minute.
 */
import { Clock, Effect } from "effect"
import { CreditsExhausted, type WalletUnreachable } from "./errors.ts"
import { creditsOf, OVERAGE_PRICE_MICRO } from "./plans.ts"
import { type Reservation, Wallet } from "./wallet.ts"

const BLOCK_UNITS = 100
const BLOCK_MS = 60_000
const LOOK_MS = 5_000
/** A wallet that cannot pay is not queried again within this time. */
const SHORT_MS = 1_000

interface Block {
  readonly reservation: Reservation
  readonly openedAt: number
  left: number
  used: number
}
type Payment = { readonly giveBack: () => void } | CreditsExhausted | WalletUnreachable

/** Which blocks can be settled, and when. */
class Blocks {
  readonly #wallet: Wallet["Service"]
  readonly #open = new Map<string, Block>()
  /** Used up or old; settled at the check after next, because requests in progress may still return units. */
  readonly #ending = new Set<Block>()
  #settling: ReadonlyArray<Block> = []

  constructor(wallet: Wallet["Service"]) {
    this.#wallet = wallet
  }

  put(block: Block): void {
    this.#open.set(block.reservation.organizationId, block)
  }

  /** Takes a unit of the organization's block; undefined if none is left. */
  take(organizationId: string): Payment | undefined {
    const block = this.#open.get(organizationId)
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

  /** Marks the organization's block to be settled soon. */
  end(organizationId: string): void {
    const block = this.#open.get(organizationId)
    if (block === undefined) return
    this.#open.delete(organizationId)
    this.#ending.add(block)
  }

  /** Settles blocks that ended before the previous check, and ends old blocks. */
  look(now: number): Effect.Effect<void> {
    for (const [organizationId, { openedAt }] of this.#open) if (now - openedAt >= BLOCK_MS) this.end(organizationId)
    const due = this.#settling
    this.#settling = [...this.#ending]
    this.#ending.clear()
    return Effect.forEach(due, (block) => this.#settle(block), { discard: true })
  }

  readonly settleAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.#settling, ...this.#ending, ...this.#open.values()], (block) => this.#settle(block), {
      concurrency: 4,
      discard: true
    })
  )

  /** Retried at every check while the wallet is unavailable, until the reservation has expired. */
  #settle(block: Block): Effect.Effect<void> {
    const { reservation, used } = block
    return Effect.flatMap(Effect.result(this.#wallet.settle(reservation, used * OVERAGE_PRICE_MICRO)), (settled) =>
      Effect.suspend(() => {
        if (settled._tag === "Success")
          return settled.success
            ? Effect.void
            : Effect.logError(
                `${used} searches beyond the quota of ${reservation.organizationId} were not settled before their reservation was over; they stay unpaid`
              )
        this.#ending.add(block)
        return Effect.logWarning(
          `${used} searches beyond the quota of ${reservation.organizationId} could not be settled; tried again`,
          settled.failure
        )
      })
    )
  }
}

/** Reserves a block. */
const open = Effect.fnUntraced(function* (wallet: Wallet["Service"], organizationId: string, openedAt: number) {
  const reserve = (units: number) =>
    wallet.reserve(organizationId, units * OVERAGE_PRICE_MICRO, "searches beyond the quota")
  const reservation = yield* Effect.catchTag(reserve(BLOCK_UNITS), "CreditsExhausted", ({ available }) => {
    // The remaining credits buy as many complete units as they can, at least one.
    const units = Math.floor(available / creditsOf(OVERAGE_PRICE_MICRO) + 1e-9)
    return reserve(Math.max(1, Math.min(BLOCK_UNITS, units)))
  })
  const block: Block = { reservation, openedAt, left: reservation.amount / OVERAGE_PRICE_MICRO, used: 0 }
  return block
})

export const makeOverage = Effect.gen(function* () {
  const wallet = yield* Wallet
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const blocks = new Blocks(wallet)
  const shortUntil = new Map<string, { readonly until: number; readonly error: CreditsExhausted }>()
  const opening = new Map<string, Effect.Effect<CreditsExhausted | WalletUnreachable | undefined>>()

  const pay = (organizationId: string): Effect.Effect<Payment> =>
    Effect.suspend(() => {
      const paid = blocks.take(organizationId)
      if (paid !== undefined) return Effect.succeed(paid)
      const short = shortUntil.get(organizationId)
      if (short !== undefined && now() < short.until) return Effect.succeed(short.error)
      return refill(organizationId)
    })
  /** Only one block of an organization is opened at a time; other callers wait for it and retry. */
  const refill = Effect.fnUntraced(function* (organizationId: string): Effect.fn.Return<Payment> {
    let running = opening.get(organizationId)
    if (running === undefined) {
      blocks.end(organizationId)
      const opened = Effect.match(open(wallet, organizationId, now()), {
        onFailure: (error) => error,
        onSuccess: (block) => {
          blocks.put(block)
          return undefined
        }
      })
      running = yield* Effect.cached(
        Effect.ensuring(
          opened,
          Effect.sync(() => opening.delete(organizationId))
        )
      )
      opening.set(organizationId, running)
    }
    const failure = yield* running
    if (failure === undefined) return yield* pay(organizationId)
    if (failure instanceof CreditsExhausted) shortUntil.set(organizationId, { until: now() + SHORT_MS, error: failure })
    return failure
  })

  yield* Effect.addFinalizer(() => blocks.settleAll)
  const look = Effect.suspend(() => {
    for (const [organizationId, { until }] of shortUntil) if (until < now()) shortUntil.delete(organizationId)
    return blocks.look(now())
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(LOOK_MS), look)))
  return { pay }
})
