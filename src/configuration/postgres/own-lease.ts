/**
 * The lease of this process: while it is valid, every write waits for this process, so memory is current. Renewed
 * three times per duration; a lost lease is taken again under another name.
 */
import { Cause, Effect } from "effect"
import { leaseEnd, mayRenew } from "../leases.ts"
import type { makeLeasesRepository } from "../leases-repository.ts"
import type { ChangeReader } from "./change-reader.ts"
import type { OtherLeases } from "./other-leases.ts"
import type { OwnStatements } from "./own-statements.ts"

/** Renewals per lease duration, so that two may fail. */
const RENEWALS = 3

interface LeaseParts {
  readonly repository: ReturnType<typeof makeLeasesRepository>
  readonly statements: OwnStatements
  readonly reader: ChangeReader
  readonly others: OtherLeases
  readonly member: string
  readonly lease_ms: number
  /** Milliseconds of the monotonic clock. */ readonly now: () => number
}

export class OwnLease {
  readonly #parts: LeaseParts
  #holding: string | undefined
  #validUntil = -Infinity
  #joins = 0

  constructor(parts: LeaseParts) {
    this.#parts = parts
  }

  /** The name of the current lease. */
  get holding(): string | undefined {
    return this.#holding
  }
  /** Until when memory may be used, in milliseconds of the monotonic clock. */
  get validUntil(): number {
    return this.#validUntil
  }

  letGo(): void {
    this.#holding = undefined
    this.#validUntil = -Infinity
  }

  /** Renews forever. Failures were already logged; the next renewal tries again. */
  readonly loop: Effect.Effect<never> = Effect.suspend(() =>
    Effect.forever(
      Effect.andThen(
        Effect.catchCause(this.#renew(), (cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.interrupt
            : Cause.hasDies(cause)
              ? Effect.logError("Configuration: a renewal of the lease failed for a reason of ours", cause)
              : Effect.void
        ),
        Effect.sleep(this.#parts.lease_ms / RENEWALS)
      )
    )
  )

  readonly #join = Effect.fnUntraced({ self: this }, function* () {
    const { lease_ms, member, now, reader, repository, statements } = this.#parts
    this.letGo()
    const process = `${member}.${++this.#joins}`
    const sentAt = now()
    yield* statements.run(repository.join(process, reader.applied))
    this.#holding = process
    // Writes acknowledged before the row existed did not wait for it.
    yield* reader.freshly
    this.#validUntil = leaseEnd(sentAt, lease_ms)
  })

  readonly #renew = Effect.fnUntraced({ self: this }, function* () {
    const { lease_ms, now, others, reader, repository, statements } = this.#parts
    if (this.#holding === undefined) return yield* this.#join()
    const sentAt = now()
    if (!mayRenew(reader.behindSince, sentAt, lease_ms)) return
    const renewed = yield* statements.run(repository.renew(this.#holding, reader.applied))
    if (renewed === undefined) return yield* this.#join()
    this.#validUntil = leaseEnd(sentAt, lease_ms)
    if (renewed.version > reader.applied) reader.fellBehind(sentAt)
    others.see(renewed.leases)
    yield* others.endSilent
  })
}
