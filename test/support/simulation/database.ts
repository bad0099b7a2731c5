/**
 * Postgres as the streams use it: offsets, skipped places, leases and sums behind the two ports, with transactions
 * (read committed, one advisory lock a unit, ended when their connection is lost or stalls), answers that are lost
 * before or after the work, and refusals. `test/streams/stores.test.ts` compares it with the real one.
 */
import { Context, Effect, Exit } from "effect"
import { SqlError } from "effect/sql"
import { type Unit, unitKey } from "../../../streams/offsets/assignment.ts"
import { LeaseStore, type LeaseStoreShape } from "../../../streams/ownership/lease-store.ts"
import { OffsetStore, type OffsetStoreShape } from "../../../streams/offsets/offset-store.ts"
import type { Progress } from "../../../streams/runner/runner.ts"
import { placeKey, type Skipped } from "../../../streams/reading/skipped.ts"
import type { Positions } from "../../../streams/state/state.ts"
import type { SimulatedProcess, World } from "./world.ts"

/** As in `postgres.ts`. */
const STANDSTILL_MAX_MS = 10_000

interface Lease {
  owner: string
  fence: number
  expires_at: number
  progress: Progress | undefined
}

interface Transaction {
  readonly process: SimulatedProcess
  isOpen: boolean
  /** One of its statements failed, so all later ones fail, too, and it cannot commit. */
  isAborted: boolean
  statements: number
  locked: string | undefined
  /** Applied on commit. */
  readonly work: Array<() => void>
  /**
   * The partition that the transaction locked, or whose offsets it moved without the lock, and whether its process
   * owned the partition then: as observed by the server, independent of the program's own checks.
   */
  stands: { readonly unit: string; readonly isLocked: boolean; readonly newOwner: string | undefined } | undefined
}

const CurrentTransaction = Context.Reference<Transaction | undefined>("test/simulation/CurrentTransaction", {
  defaultValue: () => undefined
})

/** Planted bugs, to verify that the simulation finds them. */
export interface DatabaseVariant {
  /** Every fence is treated as held. */
  readonly believesFences?: boolean
  /** The advisory lock is not taken. */
  readonly locksNothing?: boolean
  /** Sums are written immediately, even if the transaction fails. */
  readonly sumsOutside?: boolean
}

interface DatabaseFaults {
  /** A statement is not executed, and its connection is lost. */ readonly before: number
  /** It is executed and its answer is lost; most often a commit's. */ readonly after: number
}

const sqlError = (message: string, code?: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({
      cause: code === undefined ? new Error(message) : Object.assign(new Error(message), { code })
    })
  })

export class SimulatedDatabase {
  readonly #world: World
  readonly #faults: DatabaseFaults
  readonly #variant: DatabaseVariant
  #offsets = new Map<string, Positions>()
  #skipped = new Map<string, Map<string, string>>()
  #leases = new Map<string, Lease>()
  #members = new Map<string, { readonly processors: ReadonlyArray<string>; readonly expires_at: number }>()
  /** What processors have counted; a sum of zero is not kept. */
  #sums = new Map<string, number>()
  readonly #locks = new Map<
    string,
    {
      holder: Transaction
      readonly waiting: Array<{ readonly transaction: Transaction; readonly granted: () => void }>
    }
  >()
  readonly #open = new Set<Transaction>()

  constructor(world: World, faults: DatabaseFaults, variant: DatabaseVariant = {}) {
    this.#world = world
    this.#faults = faults
    this.#variant = variant
  }

  offsetsOf(unit: Unit): Positions {
    return this.#offsets.get(unitKey(unit)) ?? {}
  }
  get sums(): ReadonlyMap<string, number> {
    return this.#sums
  }
  skippedOf(unit: Unit): ReadonlyMap<string, string> {
    return this.#skipped.get(unitKey(unit)) ?? new Map()
  }

  /** A copy of the current state; `restore` brings it back, as from a backup. That loses all connections. */
  backup(): () => void {
    const copy = structuredClone([this.#offsets, this.#skipped, this.#leases, this.#members, this.#sums] as const)
    return () => {
      for (const transaction of [...this.#open]) this.#end(transaction)
      const [offsets, skipped, leases, members, sums] = structuredClone(copy)
      this.#offsets = offsets
      this.#skipped = skipped
      this.#leases = leases
      this.#members = members
      this.#sums = sums
    }
  }

  /** One statement. Outside a transaction it is a transaction by itself. */
  #statement<A>(
    process: SimulatedProcess,
    name: string,
    serve: (transaction: Transaction | undefined) => A
  ): Effect.Effect<A, SqlError.SqlError> {
    return Effect.flatMap(CurrentTransaction, (transaction) =>
      process.request<A, SqlError.SqlError>((answer) => {
        if (transaction !== undefined) {
          transaction.statements++
          if (!transaction.isOpen) return answer(Exit.fail(sqlError("the connection was lost")))
          this.#watch(transaction)
        }
        if (this.#world.fails(this.#faults.before)) {
          this.#world.tell(() => `${process.name} ${name}: connection lost before`)
          if (transaction !== undefined) this.#end(transaction)
          return answer(Exit.fail(sqlError("connection lost")))
        }
        let result: Exit.Exit<A, SqlError.SqlError>
        try {
          if (transaction?.isAborted === true && name !== "ROLLBACK")
            throw sqlError("current transaction is aborted", "25P02")
          result = Exit.succeed(serve(transaction))
        } catch (error) {
          if (transaction !== undefined) transaction.isAborted = true
          result = Exit.fail(error as SqlError.SqlError)
        }
        if (this.#world.fails(this.#faults.after)) {
          this.#world.tell(() => `${process.name} ${name}: answer lost`)
          if (transaction !== undefined) this.#end(transaction)
          return answer(Exit.fail(sqlError("answer lost")))
        }
        this.#world.tell(
          () =>
            `${process.name} ${name}${result._tag === "Success" && result.value !== undefined ? ` → ${JSON.stringify(result.value)}` : result._tag === "Failure" ? " refused" : ""}`
        )
        answer(result)
      })
    )
  }
  /**
   * Records whether another process held the partition's lease. A lost lease never returns under its old fence, so a
   * transaction that gets the lock after the loss must detect it; committing is wrong, whatever the sums are.
   */
  #stand(transaction: Transaction, unit: Unit, isLocked: boolean): void {
    const owner = this.#leases.get(unitKey(unit))?.owner
    transaction.stands ??= {
      unit: unitKey(unit),
      isLocked,
      newOwner: owner === undefined || owner === transaction.process.name ? undefined : owner
    }
  }
  /** Ends a transaction that stalls, as the server does. */
  #watch(transaction: Transaction): void {
    const { statements } = transaction
    this.#world.after(STANDSTILL_MAX_MS, () => {
      if (transaction.isOpen && transaction.statements === statements) this.#end(transaction)
    })
  }
  #end(transaction: Transaction): void {
    if (!transaction.isOpen) return
    transaction.isOpen = false
    this.#open.delete(transaction)
    if (transaction.locked === undefined) return
    const lock = this.#locks.get(transaction.locked)!
    for (let next = lock.waiting.shift(); next !== undefined; next = lock.waiting.shift()) {
      if (!next.transaction.isOpen) continue
      lock.holder = next.transaction
      next.transaction.locked = transaction.locked
      next.granted()
      return
    }
    this.#locks.delete(transaction.locked)
  }

  /** For processors: adds to sums within the transaction. Keys that begin with `refused` are refused permanently. */
  add(process: SimulatedProcess, amounts: ReadonlyMap<string, number>): Effect.Effect<void, SqlError.SqlError> {
    return this.#statement(process, `adds ${amounts.size} sums`, (transaction) => {
      for (const key of amounts.keys())
        if (key.startsWith("refused")) throw sqlError(`numeric value out of range: ${key}`, "22003")
      const apply = () =>
        amounts.forEach((amount, key) => {
          const sum = (this.#sums.get(key) ?? 0) + amount
          if (sum === 0) this.#sums.delete(key)
          else this.#sums.set(key, sum)
        })
      if (transaction === undefined || this.#variant.sumsOutside === true) apply()
      else transaction.work.push(apply)
    })
  }

  offsetStore(process: SimulatedProcess): OffsetStoreShape {
    const within = (transaction: Transaction | undefined, apply: () => void) =>
      transaction === undefined ? apply() : void transaction.work.push(apply)
    const finish = (transaction: Transaction, commits: boolean) =>
      Effect.provideService(
        this.#statement(process, commits ? "COMMIT" : "ROLLBACK", () => {
          if (commits) transaction.work.forEach((apply) => apply())
          const { stands, work } = transaction
          if (commits && work.length > 0) {
            if (stands?.isLocked !== true)
              this.#world.violate(`${process.name} committed without the lock of a partition`)
            if (stands?.newOwner !== undefined)
              this.#world.violate(
                `${process.name} committed ${stands.unit} though the fence was ${stands.newOwner}'s when it began to`
              )
          }
          this.#end(transaction)
        }),
        CurrentTransaction,
        transaction
      )
    return OffsetStore.of({
      offsets: (unit) =>
        this.#statement(process, `reads offsets of ${unitKey(unit)}`, () => this.#offsets.get(unitKey(unit)) ?? {}),
      skipped: (unit, starts) =>
        this.#statement(process, `reads what ${unitKey(unit)} skips`, () => {
          const all = this.#skipped.get(unitKey(unit)) ?? new Map<string, string>()
          for (const key of [...all.keys()]) {
            const [topic, offset] = key.split("/")
            if (Number(offset) < (starts[topic!] ?? 0)) all.delete(key)
          }
          return new Map(all)
        }),
      transaction: (body) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen({ self: this }, function* () {
            const transaction: Transaction = {
              process,
              isOpen: true,
              isAborted: false,
              statements: 0,
              locked: undefined,
              work: [],
              stands: undefined
            }
            yield* this.#statement(process, "BEGIN", () => {
              if (!process.isAlive) return
              this.#open.add(transaction)
              this.#watch(transaction)
              // The server soon notices that a program has died, but only after a while that its machine has.
              process.onDeath(() =>
                this.#world.after(this.#world.draws.chance(0.8) ? this.#world.latency() : STANDSTILL_MAX_MS, () =>
                  this.#end(transaction)
                )
              )
            })
            const exit = yield* Effect.exit(restore(Effect.provideService(body, CurrentTransaction, transaction)))
            if (exit._tag === "Failure") yield* Effect.ignore(finish(transaction, false))
            else yield* finish(transaction, true)
            return yield* exit
          })
        ),
      lock: (unit) =>
        Effect.flatMap(CurrentTransaction, (transaction) => {
          if (transaction === undefined) return Effect.void
          if (this.#variant.locksNothing === true) return Effect.sync(() => this.#stand(transaction, unit, true))
          const key = unitKey(unit)
          return process.request<void, SqlError.SqlError>((answer) => {
            transaction.statements++
            if (!transaction.isOpen) return answer(Exit.fail(sqlError("the connection was lost")))
            const lock = this.#locks.get(key)
            const granted = () => {
              this.#watch(transaction)
              this.#stand(transaction, unit, true)
              this.#world.tell(() => `${process.name} has the lock of ${key}`)
              answer(Exit.void)
            }
            if (lock !== undefined) return void lock.waiting.push({ transaction, granted })
            this.#locks.set(key, { holder: transaction, waiting: [] })
            transaction.locked = key
            granted()
          })
        }),
      holdsFence: (unit, fence) =>
        this.#statement(
          process,
          `asks for fence ${fence} of ${unitKey(unit)}`,
          () => this.#leases.get(unitKey(unit))?.fence === fence || this.#variant.believesFences === true
        ),
      moveOffsets: (unit, to) =>
        this.#statement(process, `moves ${unitKey(unit)} to ${JSON.stringify(to)}`, (transaction) => {
          if (transaction === undefined)
            this.#world.violate(`${process.name} moved ${unitKey(unit)} outside of a transaction`)
          else this.#stand(transaction, unit, false)
          within(transaction, () => this.#offsets.set(unitKey(unit), { ...this.#offsets.get(unitKey(unit)), ...to }))
        }),
      skip: (unit, places: ReadonlyArray<Skipped>) =>
        places.length === 0
          ? Effect.void
          : this.#statement(process, `skips ${places.map(placeKey).join(" ")}`, (transaction) =>
              within(transaction, () => {
                let all = this.#skipped.get(unitKey(unit))
                if (all === undefined) this.#skipped.set(unitKey(unit), (all = new Map()))
                for (const place of places) if (!all.has(placeKey(place))) all.set(placeKey(place), place.reason)
              })
            )
    })
  }

  leaseStore(process: SimulatedProcess): LeaseStoreShape {
    const now = () => this.#world.now
    return LeaseStore.of({
      announce: ({ member, processors }, lease_ms) =>
        this.#statement(process, "announces itself", () => {
          this.#members.set(member, { processors, expires_at: now() + lease_ms })
          for (const [name, { expires_at }] of this.#members)
            if (expires_at < now() - 10 * lease_ms) this.#members.delete(name)
        }),
      retire: (member) => this.#statement(process, "retires", () => void this.#members.delete(member)),
      liveMembers: this.#statement(process, "reads members", () =>
        [...this.#members]
          .filter(([, { expires_at }]) => expires_at > now())
          .map(([member, { processors }]) => ({ member, processors }))
      ),
      all: this.#statement(process, "reads leases", () =>
        [...this.#leases].map(([key, { expires_at, owner, progress }]) => ({
          ...unitOf(key),
          owner: expires_at > now() ? owner : undefined,
          progress
        }))
      ),
      renew: (owner, leases, lease_ms) =>
        leases.length === 0
          ? Effect.succeed([])
          : this.#statement(process, "renews", () =>
              leases
                .filter(({ fence, group, partition, progress }) => {
                  const lease = this.#leases.get(unitKey({ group, partition }))
                  if (lease === undefined || lease.fence !== fence || lease.owner !== owner) return false
                  lease.expires_at = now() + lease_ms
                  if (progress !== undefined) lease.progress = progress
                  return true
                })
                .map(({ group, partition }) => ({ group, partition }))
            ),
      claim: (owner, unit, lease_ms) =>
        this.#statement(process, `claims ${unitKey(unit)}`, () => {
          const lease = this.#leases.get(unitKey(unit))
          if (lease !== undefined && lease.expires_at > now()) return undefined
          const fence = (lease?.fence ?? 0) + 1
          this.#leases.set(unitKey(unit), { owner, fence, expires_at: now() + lease_ms, progress: lease?.progress })
          return fence
        }),
      release: (owner, { fence, ...unit }) =>
        this.#statement(process, `releases ${unitKey(unit)}`, () => {
          const lease = this.#leases.get(unitKey(unit))
          if (lease?.owner === owner && lease.fence === fence) lease.expires_at = now()
        })
    })
  }
}

const unitOf = (key: string): Unit => {
  const at = key.lastIndexOf("/")
  return { group: key.slice(0, at), partition: Number(key.slice(at + 1)) }
}
