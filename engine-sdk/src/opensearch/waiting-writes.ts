/**
 * What a writer does at a fence: it waits until the move has ended, and lifts the fence itself if nobody else does. Its
 * changes at the old placement were either carried over or are repeated, never both.
 */
import { fail, notFound, ok, type Result } from "../errors.ts"
import type { Directory, Entry } from "./directory.ts"
import type { CollectionRecord } from "./record.ts"
import { abandonedMove } from "./move.ts"

/** Only a few requests lie between setting and deciding a fence; a mover that takes longer is considered dead. */
const FENCE_MAX_MS = 10_000
const LOOK_MS = 25

/** Waits until the collection has no fence. Writes to the placement in the returned record may be acknowledged. */
export const unfenced = async (directory: Directory, entry: Entry): Promise<Result<CollectionRecord>> => {
  const { namespace, schema } = entry.record
  const until = performance.now() + FENCE_MAX_MS
  for (;;) {
    const { record } = entry
    if (record.move?.isFenced !== true) return ok(record)
    if (performance.now() >= until) {
      // Once the record has changed, the mover that set the fence can no longer switch.
      const lifted = await directory.save(abandonedMove(record), entry.revision)
      if (!lifted.ok && lifted.error.kind !== "Conflict") return lifted
    } else await new Promise((settle) => setTimeout(settle, LOOK_MS))
    const read = await directory.reload(namespace, schema.name)
    if (!read.ok) return read
    if (directory.find(namespace, schema.name) !== entry) return fail(notFound("Collection not found"))
  }
}
