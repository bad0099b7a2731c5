/** Finds a key by its text although the text is not stored. */
import { createHash } from "node:crypto"

/** Secured keys are signed with this digest, so it is stored only sealed. */
export const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()
/** The hash by which a key is looked up: a hash of its digest. */
export const lookupHash = (digest: Buffer): Buffer =>
  createHash("sha256").update("dowser look-up").update(digest).digest()
