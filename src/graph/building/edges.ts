/**
 * Relations between entities that more documents name together than expected by chance (normalised pointwise mutual
 * information); the fifteen strongest of each entity.
 */
import { entitiesByDocument, type KeptEntities } from "./kept-entities.ts"

const NPMI_MIN = 0.25
const COUNT_MIN = 3
const PER_ENTITY = 15
/** An entity in more documents than this would connect unrelated things. */
const SHARE_MAX = 0.05,
  EVER_ALLOWED = 50

export interface Edge {
  readonly a: number
  readonly b: number
  /** Number of documents that name both. */ readonly support: number
  readonly npmi: number
  /** `npmi`, reduced if an entity is of a type with few distinct values. */ readonly weight: number
}

export const npmiOf = (both: number, a: number, b: number, documents: number): number =>
  both === documents ? 0 : Math.log((both * documents) / (a * b)) / -Math.log(both / documents)

const stronger = (a: Edge, b: Edge): number => b.weight - a.weight || b.support - a.support || a.a - b.a || a.b - b.b

/** Ordered by `a`, then `b`; `a < b`. */
export const edgesOf = (kept: KeptEntities): ReadonlyArray<Edge> => {
  const { count, documentIds, documents, starts, type, weight } = kept
  const most = Math.max(EVER_ALLOWED, SHARE_MAX * documentIds.length)
  const size = (entity: number) => starts[entity + 1]! - starts[entity]!
  const ofDocument = entitiesByDocument(kept)
  const together = new Int32Array(count)
  const strongest: Array<Array<Edge>> = []
  for (let a = 0; a < count; a++) {
    strongest.push([])
    if (size(a) > most) continue
    const met: Array<number> = []
    for (let n = starts[a]!; n < starts[a + 1]!; n++) {
      const document = documents[n]!
      for (let at = ofDocument.starts[document]!; at < ofDocument.starts[document + 1]!; at++) {
        const b = ofDocument.entities[at]!
        if (b === a || size(b) > most) continue
        if (together[b]!++ === 0) met.push(b)
      }
    }
    for (const b of met) {
      const support = together[b]!
      together[b] = 0
      if (support < COUNT_MIN) continue
      const npmi = npmiOf(support, size(a), size(b), documentIds.length)
      if (npmi <= NPMI_MIN) continue
      const pair = Math.sqrt(weight.get(type[a]!)! * weight.get(type[b]!)!)
      strongest[a]!.push({ a: Math.min(a, b), b: Math.max(a, b), support, npmi, weight: npmi * pair })
    }
    strongest[a] = strongest[a]!.sort(stronger).slice(0, PER_ENTITY)
  }
  const edges = new Map<number, Edge>()
  for (const own of strongest) for (const edge of own) edges.set(edge.a * count + edge.b, edge)
  return [...edges.values()].sort((x, y) => x.a - y.a || x.b - y.b)
}
