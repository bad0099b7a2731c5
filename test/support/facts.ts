/** The facts of one flush, with only rollups after them, for tests of the step. */
import { Facts, KnownFacts } from "../../streams/facts/facts.ts"
import { KnownUses, RollupSums } from "../../streams/processors/rollups/emitted.ts"

interface Counted {
  readonly facts: Facts
  readonly sums: RollupSums
}

/** What a partition remembers from flush to flush. */
export const newKnown = () => ({ facts: new KnownFacts(), uses: new KnownUses() })

export const newCounted = (known = newKnown(), spent?: RollupSums): Counted => {
  const sums: Array<RollupSums> = []
  const facts = new Facts(known.facts, (of) => {
    sums.push(new RollupSums(known.uses, of, spent))
    return sums
  })
  return { facts, sums: sums[0]! }
}
