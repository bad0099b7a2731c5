/**
 * Passwords as scrypt hashes (RFC 7914) by Node's own crypto, in its thread pool. A hash takes about 0.1 s of one
 * thread and 32 MB, so at most `AT_ONCE_MAX` are computed at a time, `WAITING_MAX` wait, and more are refused.
 */
import { scrypt, timingSafeEqual } from "node:crypto"
import { Context, Effect, Semaphore } from "effect"
import { Throttled } from "../http/errors.ts"

interface Cost {
  readonly N: number
  readonly r: number
  readonly p: number
}
/**
 * The cost of a hash, which only tests that sign in a hundred times change. OWASP considers these parameters as
 * strong as N = 2^17 with p = 1, at a quarter of the memory.
 */
export const PasswordCost = Context.Reference<Cost>("dowser/console/PasswordCost", {
  defaultValue: () => ({ N: 2 ** 15, r: 8, p: 3 })
})
const KEY_BYTES = 32
const MEMORY_BYTES_MAX = 64 * 1024 * 1024
const AT_ONCE_MAX = 2
const WAITING_MAX = 16
export const PASSWORD_CHARACTERS_MIN = 12
/** The same typed text may arrive in different Unicode forms. */
export const PASSWORD_CHARACTERS_MAX = 256

const derive = (password: string, salt: Buffer, { N, p, r }: Cost, bytes: number): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    scrypt(password.normalize("NFKC"), salt, bytes, { N, r, p, maxmem: MEMORY_BYTES_MAX }, (error, key) =>
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    )
  })

interface Parsed extends Cost {
  readonly salt: Buffer
  readonly key: Buffer
}
/** `scrypt$N$r$p$salt$key`, base64url. A damaged hash is a defect, not a wrong password. */
const parse = (hash: string): Parsed => {
  const [kind, N, r, p, salt, key] = hash.split("$")
  if (kind !== "scrypt" || salt === undefined || key === undefined)
    throw new Error("a stored password hash cannot be read")
  return {
    N: Number(N),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, "base64url"),
    key: Buffer.from(key, "base64url")
  }
}

export const makePasswords = Effect.gen(function* () {
  const ownCost = yield* PasswordCost
  const places = yield* Semaphore.make(AT_ONCE_MAX)
  let waiting = 0
  const bounded = <A>(work: Effect.Effect<A>): Effect.Effect<A, Throttled> =>
    Effect.suspend((): Effect.Effect<A, Throttled> => {
      if (waiting >= AT_ONCE_MAX + WAITING_MAX)
        return Effect.fail(
          new Throttled({
            message: "Too many people sign in at this moment; try again.",
            kind: "backpressure",
            retry_after_s: 1
          })
        )
      waiting++
      return Effect.ensuring(
        places.withPermits(1)(work),
        Effect.sync(() => {
          waiting--
        })
      )
    })
  const hash = (password: string, salt: Buffer): Effect.Effect<string, Throttled> =>
    bounded(
      Effect.map(
        derive(password, salt, ownCost, KEY_BYTES),
        (key) =>
          `scrypt$${ownCost.N}$${ownCost.r}$${ownCost.p}$${salt.toString("base64url")}$${key.toString("base64url")}`
      )
    )
  return {
    hash,
    /** Takes as long for an unknown person (`undefined`) as for a known one. */
    isRight: (password: string, stored: string | undefined): Effect.Effect<boolean, Throttled> =>
      Effect.suspend(() => {
        const { key, salt, ...cost } =
          stored === undefined ? { ...ownCost, salt: Buffer.alloc(16), key: Buffer.alloc(KEY_BYTES) } : parse(stored)
        return bounded(
          Effect.map(
            derive(password, salt, cost, key.length),
            (derived) => timingSafeEqual(derived, key) && stored !== undefined
          )
        )
      })
  }
})
