/**
 * Seals secrets with the operator's key. Secrets that must be usable again (a secured key's digest, model
 * credentials, webhook secrets) are stored under AES-256-GCM, so that a copy of the database alone reveals nothing.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { Context, Layer } from "effect"

export class Seal extends Context.Service<
  Seal,
  {
    readonly seal: (plain: Uint8Array) => string
    /** Throws if the text was not sealed with this key: a damaged store is a defect, not an expected failure. */
    readonly open: (sealed: string) => Buffer
  }
>()("dowser/access/Seal") {
  /** `operatorKey` has 32 bytes. */
  static readonly layer = (operatorKey: Uint8Array) =>
    Layer.succeed(
      Seal,
      Seal.of({
        seal: (plain) => {
          const nonce = randomBytes(12)
          const cipher = createCipheriv("aes-256-gcm", operatorKey, nonce)
          const body = Buffer.concat([cipher.update(plain), cipher.final()])
          return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64")
        },
        open: (sealed) => {
          const bytes = Buffer.from(sealed, "base64")
          const decipher = createDecipheriv("aes-256-gcm", operatorKey, bytes.subarray(0, 12))
          decipher.setAuthTag(bytes.subarray(12, 28))
          return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
        }
      })
    )
}
