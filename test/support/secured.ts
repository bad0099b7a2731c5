/**
 * The scoped key that stock client libraries derive from a search key without a request
 * (`docs/contract/keys.md#secured-keys`).
 */
import { createHmac } from "node:crypto"

export const securedKey = (parent: string, parameters: Record<string, unknown> | string): string => {
  const text = typeof parameters === "string" ? parameters : JSON.stringify(parameters)
  return Buffer.from(createHmac("sha256", parent).update(text).digest("base64") + parent.slice(0, 4) + text).toString(
    "base64"
  )
}
