/** Whether a stage gave back what it got. */

/** For each item of `answer` where it stood in `given`; undefined unless every item occurs exactly once. O(items). */
export const permutationOf = <A>(
  given: ReadonlyArray<A>,
  answer: ReadonlyArray<A>
): ReadonlyArray<number> | undefined => {
  if (answer.length !== given.length) return undefined
  const places = new Map<A, number>()
  given.forEach((item, i) => places.set(item, i))
  const order: number[] = []
  for (const item of answer) {
    const place = places.get(item)
    if (place === undefined) return undefined
    places.delete(item)
    order.push(place)
  }
  return order
}
