/**
 * The operator's token, which the command line on the same machine, and later the console, send to `/console/v1`. It
 * is in the data folder, readable only by the owner.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { Unauthorized } from "../http/errors.ts"

const digest = (text: string) => createHash("sha256").update(text).digest()

export class OperatorAuth extends Context.Service<
  OperatorAuth,
  {
    readonly check: (token: string | undefined) => Effect.Effect<undefined, Unauthorized>
  }
>()("dowser/access/OperatorAuth") {
  static readonly layer = (token: string) => {
    const expected = digest(token)
    return Layer.succeed(
      OperatorAuth,
      OperatorAuth.of({
        check: (given) =>
          given !== undefined && timingSafeEqual(digest(given), expected)
            ? Effect.succeed(undefined)
            : Effect.fail(
                new Unauthorized({
                  message: "The operator token is missing or wrong.",
                  reason: given === undefined ? "missing" : "rejected"
                })
              )
      })
    )
  }
}
