/**
 * Open addressing with linear probing, for tables of numbers in typed arrays: 0 marks a free slot, and the length is a
 * power of two. Most tables store an entry's index + 1 in its slot and keep the entry in separate columns. The table
 * must grow itself: a search in a table without a free slot does not end, so keep it at most three quarters full.
 */
type Slots = Int32Array | Uint32Array

/**
 * The slot whose value satisfies `isWanted`, or the free slot where the entry would go. Expected O(1), plus a call per
 * entry that is examined.
 */
export const slotOf = (slots: Slots, hash: number, isWanted: (value: number, slot: number) => boolean): number => {
  const mask = slots.length - 1
  let slot = hash & mask
  for (let value = slots[slot]!; value !== 0; slot = (slot + 1) & mask, value = slots[slot]!)
    if (isWanted(value, slot)) return slot
  return slot
}

/** The slot for an entry that is known to be new. Expected O(1). */
export const freeSlot = (slots: Slots, hash: number): number => {
  const mask = slots.length - 1
  let slot = hash & mask
  while (slots[slot] !== 0) slot = (slot + 1) & mask
  return slot
}
