/**
 * Time-ordered identifiers and secret texts. The only source of randomness, so that tests can seed it and `tidy` can
 * forbid randomness everywhere else.
 */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/** The prefix of that millisecond's ULIDs; all earlier ULIDs sort before it. */
export const ulidTime = (at_ms: number): string => {
  let text = ""
  for (let rest = at_ms, i = 0; i < 10; i++) {
    text = crockford[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
/** A ULID: 48 bits of milliseconds, then 80 random bits. */
export const ulid = (now_ms: number, random: Uint8Array): string => {
  let text = ulidTime(now_ms)
  for (let i = 0; i < 16; i++) {
    // Each of the 16 characters encodes 5 bits of the ten bytes.
    const bit = i * 5
    const pair = (random[bit >> 3]! << 8) | (random[(bit >> 3) + 1] ?? 0)
    text += crockford[(pair >> (11 - (bit & 7))) & 31]
  }
  return text
}

export class Identifiers extends Context.Service<
  Identifiers,
  {
    /** `prefix_` + ULID. */
    readonly make: (prefix: string) => Effect.Effect<string>
    /** Unbiased alphanumeric text of the given length; about 5.95 bits a character. */
    readonly secret: (length: number) => Effect.Effect<string>
  }
>()("dowser/ports/Identifiers") {
  static readonly layer = Layer.succeed(
    Identifiers,
    Identifiers.of({
      make: (prefix) => Effect.map(Clock.currentTimeMillis, (now) => `${prefix}_${ulid(now, randomBytes(11))}`),
      secret: (length) =>
        Effect.sync(() => {
          let text = ""
          while (text.length < length) {
            for (const byte of randomBytes(length)) {
              if (byte < 248 && text.length < length) text += alphanumeric[byte % 62]
            }
          }
          return text
        })
    })
  )
}
