/** Import cycles: the strongly connected components of a graph, found in one pass (Tarjan). */

/** Each cycle, and the list of cycles, sorted by name; a file that imports itself is one. */
export const circlesOf = (graph: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const order = new Map<string, number>()
  const open: Array<string> = [],
    circles: Array<ReadonlyArray<string>> = []
  const visit = (name: string): number => {
    order.set(name, order.size)
    let low = order.get(name)!
    open.push(name)
    for (const next of graph.get(name) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next))
      else if (open.includes(next)) low = Math.min(low, order.get(next)!)
    }
    if (low === order.get(name)) {
      const circle = open.splice(open.indexOf(name))
      if (circle.length > 1 || graph.get(name)?.includes(name) === true) circles.push(circle.sort())
    }
    return low
  }
  for (const name of graph.keys()) if (!order.has(name)) visit(name)
  return circles.sort(([a], [b]) => (a < b ? -1 : 1))
}
