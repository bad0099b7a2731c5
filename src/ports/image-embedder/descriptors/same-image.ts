/** Whether two vectors are of the same image: hardly a bit of the hashes differs, and the look is the same. Pure. */
import { HASH_BITS } from "./hashes.ts"
import { LOOK } from "./look-alike.ts"

/** Maximum number of differing bits in each 64-bit hash. */
const DIFFERING_MAX = 6
/** Minimum cosine of the `LOOK` numbers. */
const LOOK_MIN = 0.985

export const isSameImage = (a: ArrayLike<number>, b: ArrayLike<number>): boolean => {
  const half = HASH_BITS / 2
  for (let hash = 0; hash < 2; hash++) {
    let differing = 0
    for (let i = LOOK + hash * half; i < LOOK + (hash + 1) * half; i++) if (a[i]! > 0 !== b[i]! > 0) differing++
    if (differing > DIFFERING_MAX) return false
  }
  let dot = 0,
    own = 0,
    other = 0
  for (let i = 0; i < LOOK; i++) {
    dot += a[i]! * b[i]!
    own += a[i]! * a[i]!
    other += b[i]! * b[i]!
  }
  return dot >= LOOK_MIN * Math.sqrt(own * other)
}
