/** How a key is found by its text without the text being stored. */
import { createHash } from "node:crypto"

/** By this digest secured keys are signed, so it is only stored sealed. */
export const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()
/** What a key is found by: a hash of its digest. */
export const lookupHash = (digest: Buffer): Buffer =>
  createHash("sha256").update("dowser look-up").update(digest).digest()
