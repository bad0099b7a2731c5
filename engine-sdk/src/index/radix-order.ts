/** Sorts numbers with attached values: a stable radix sort by digits of eleven bits, in steps. */
const DIGIT_BITS = 11
const DIGITS = 1 << DIGIT_BITS
/** Numbers between two chances to yield, less one. */
const STEP_MASK = 16_383

/** Indexes of `keys` by ascending key, stable. Cost: O(keys) per digit. */
export function* radixOrder(keys: Uint32Array): Generator<void, Uint32Array> {
  const size = keys.length
  let order = new Uint32Array(size),
    isSorted = true,
    most = 0
  for (let i = 0; i < size; i++) {
    order[i] = i
    if (keys[i] > most) most = keys[i]
    else if (i > 0 && keys[i] < keys[i - 1]) isSorted = false
    if ((i & STEP_MASK) === STEP_MASK) yield
  }
  if (isSorted) return order
  let into = new Uint32Array(size)
  for (let shift = 0; shift < 32 && most >>> shift > 0; shift += DIGIT_BITS) {
    const ends = new Uint32Array(DIGITS + 1)
    for (let i = 0; i < size; i++) {
      ends[((keys[i] >>> shift) & (DIGITS - 1)) + 1]++
      if ((i & STEP_MASK) === STEP_MASK) yield
    }
    for (let digit = 0; digit < DIGITS; digit++) ends[digit + 1] += ends[digit]
    for (let i = 0; i < size; i++) {
      into[ends[(keys[order[i]] >>> shift) & (DIGITS - 1)]++] = order[i]
      if ((i & STEP_MASK) === STEP_MASK) yield
    }
    const free = order
    order = into
    into = free
  }
  return order
}

/** Up to this many pairs are sorted in one step. */
const AT_ONCE = 4_096
const INSERTED = 24
/** Pairs as 64-bit numbers, which the runtime sorts natively; the first of a pair is in the upper half. */
const pairs = new BigUint64Array(AT_ONCE),
  halves = new Uint32Array(pairs.buffer)
const UPPER = new Uint32Array(new BigUint64Array([1n]).buffer)[0] === 1 ? 1 : 0

/** Sorts `keys[from .. end]`, which are distinct, and `values` with them, in place. */
export function* sortPairs(keys: Uint32Array, values: Uint32Array, from: number, end: number): Generator<void, void> {
  const size = end - from
  if (size <= AT_ONCE) return sortFewPairs(keys, values, from, end)
  if (isAscending(keys, from, end)) return
  let most = 0
  for (let i = from; i < end; i++) if (keys[i] > most) most = keys[i]
  let ownKeys: Uint32Array = keys.subarray(from, end),
    ownValues: Uint32Array = values.subarray(from, end)
  let toKeys: Uint32Array = new Uint32Array(size),
    toValues: Uint32Array = new Uint32Array(size)
  for (let shift = 0; shift < 32 && most >>> shift > 0; shift += DIGIT_BITS) {
    const ends = new Uint32Array(DIGITS + 1)
    for (let i = 0; i < size; i++) {
      ends[((ownKeys[i] >>> shift) & (DIGITS - 1)) + 1]++
      if ((i & STEP_MASK) === STEP_MASK) yield
    }
    for (let digit = 0; digit < DIGITS; digit++) ends[digit + 1] += ends[digit]
    for (let i = 0; i < size; i++) {
      const at = ends[(ownKeys[i] >>> shift) & (DIGITS - 1)]++
      toKeys[at] = ownKeys[i]
      toValues[at] = ownValues[i]
      if ((i & STEP_MASK) === STEP_MASK) yield
    }
    const freeKeys = ownKeys,
      freeValues = ownValues
    ownKeys = toKeys
    ownValues = toValues
    toKeys = freeKeys
    toValues = freeValues
  }
  if (ownKeys.buffer === keys.buffer) return
  keys.set(ownKeys, from)
  values.set(ownValues, from)
}
/** Like `sortPairs`, for at most `AT_ONCE` pairs. */
const sortFewPairs = (keys: Uint32Array, values: Uint32Array, from: number, end: number): void => {
  if (isAscending(keys, from, end)) return
  const size = end - from
  if (size <= INSERTED) {
    for (let i = from + 1; i < end; i++) {
      const key = keys[i],
        value = values[i]
      let at = i
      for (; at > from && keys[at - 1] > key; at--) {
        keys[at] = keys[at - 1]
        values[at] = values[at - 1]
      }
      keys[at] = key
      values[at] = value
    }
    return
  }
  for (let i = 0; i < size; i++) {
    halves[i * 2 + UPPER] = keys[from + i]
    halves[i * 2 + 1 - UPPER] = values[from + i]
  }
  pairs.subarray(0, size).sort()
  for (let i = 0; i < size; i++) {
    keys[from + i] = halves[i * 2 + UPPER]
    values[from + i] = halves[i * 2 + 1 - UPPER]
  }
}
const isAscending = (keys: Uint32Array, from: number, end: number): boolean => {
  for (let i = from + 1; i < end; i++) if (keys[i] < keys[i - 1]) return false
  return true
}
