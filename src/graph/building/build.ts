/**
 * Builds a graph of what documents name from the complete counts: entities, relations, communities and their reports.
 * The same documents give the same graph, in any order.
 */
import { carriedIds, hashed, type KnownCommunity } from "./carried-ids.ts"
import { communitiesOf, type Group } from "./communities.ts"
import type { EntityCounts } from "./entity-counts.ts"
import { type Edge, edgesOf } from "./edges.ts"
import { type KeptEntities, keptEntities, leastDocuments } from "./kept-entities.ts"
import { type Behaviour, type Report, Reports } from "./reports.ts"

/** Limit of the documents that an entity lists. */
const SOURCES_MAX = 20
const ALIASES_MAX = 20
/** Share of changed edges above which the communities are always computed again. */
const CHANGED_MAX = 0.1

/** Another entity: its id, the number of documents that name both, and the strength of the relation. */
type Neighbour = readonly [id: string, support: number, weight: number]
export interface EntityRow {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly key: string
  readonly description: string
  readonly aliases: ReadonlyArray<string>
  readonly documents: number
  readonly source_doc_ids: ReadonlyArray<string>
  readonly community_id: string
  readonly neighbours: ReadonlyArray<Neighbour>
}
export interface CommunityRow {
  readonly id: string
  readonly title: string
  readonly parent_id: string | undefined
  readonly members: ReadonlyArray<string>
  readonly report: Report
}
export interface KnownGraph {
  /** Parents before their sub-communities. */ readonly communities: ReadonlyArray<KnownCommunity>
  /** Hashes of the edges from which the communities were computed, ascending. */ readonly edges: Uint32Array
}
export interface BuildOptions {
  readonly collection: string
  readonly entitiesMax: number
  /** True: always computes communities; false: only if there are some and much has changed. */
  readonly communities: boolean
  readonly known: KnownGraph | undefined
  readonly behaviour: Behaviour
  /** Synonyms in the collection, by the key that represents a set. */
  readonly synonyms: ReadonlyMap<string, ReadonlyArray<string>>
}
export interface Built {
  readonly entities: ReadonlyArray<EntityRow>
  /** Undefined if the existing ones stay. */ readonly communities: ReadonlyArray<CommunityRow> | undefined
  /** Hashes of the edges, ascending. */ readonly edges: Uint32Array
  readonly edgesChanged: number
  readonly documents: number
  readonly leftOut: number
}

/** A 32-bit hash of a pair of ids (FNV-1a). */
const printOf = (a: string, b: string): number => {
  let hash = 0x811c9dc5
  const text = `${a} ${b}`
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
/** Edges in only one of the two lists, as a share of the earlier list. */
export const changedShare = (before: Uint32Array, now: Uint32Array): number => {
  let i = 0,
    j = 0,
    alone = 0
  while (i < before.length && j < now.length) {
    if (before[i] === now[j]) {
      i++
      j++
    } else {
      alone++
      if (before[i]! < now[j]!) i++
      else j++
    }
  }
  return (alone + before.length - i + now.length - j) / Math.max(1, before.length)
}

const communityRows = (
  collection: string,
  ids: ReadonlyArray<string>,
  groups: ReadonlyArray<Group>,
  known: ReadonlyArray<KnownCommunity>,
  reports: Reports
): ReadonlyArray<CommunityRow> => {
  const members = groups.map((group) => group.members.map((member) => ids[member]!))
  const own = carriedIds(collection, members, known)
  return groups.map((group, place) => ({
    id: own[place]!,
    parent_id: group.parent === undefined ? undefined : own[group.parent]!,
    members: members[place]!,
    ...reports.of(group.members, group.edges)
  }))
}
const entityRows = (
  { key, type, writings }: KeptEntities,
  ids: ReadonlyArray<string>,
  edges: ReadonlyArray<Edge>,
  reports: Reports,
  communityOf: ReadonlyMap<string, string>,
  documentIds: ReadonlyArray<string>,
  synonyms: BuildOptions["synonyms"]
): ReadonlyArray<EntityRow> => {
  const neighbours: Array<Array<Neighbour>> = ids.map(() => [])
  const rounded = (weight: number) => Math.round(weight * 1e4) / 1e4
  for (const { a, b, support, weight } of edges) {
    neighbours[a]!.push([ids[b]!, support, rounded(weight)])
    neighbours[b]!.push([ids[a]!, support, rounded(weight)])
  }
  return ids.map((id, entity) => {
    const [name, ...others] = writings[entity]!
    const documents = reports.documentsOf(entity)
    const aliases = new Set([...others, ...(synonyms.get(key[entity]!) ?? [])])
    aliases.delete(name!)
    return {
      id,
      name: name!,
      type: type[entity]!,
      key: key[entity]!,
      description: reports.description(entity),
      aliases: [...aliases].slice(0, ALIASES_MAX),
      documents: documents.length,
      source_doc_ids: Array.from(documents.subarray(0, SOURCES_MAX), (document) => documentIds[document]!),
      community_id: communityOf.get(id) ?? "",
      neighbours: neighbours[entity]!.sort((x, y) => y[2] - x[2] || y[1] - x[1] || (x[0] < y[0] ? -1 : 1)).slice(0, 15)
    }
  })
}

export const buildGraph = (counts: EntityCounts, options: BuildOptions): Built => {
  const { behaviour, collection, communities, entitiesMax, known, synonyms } = options
  const kept = keptEntities(counts, counts.finish(leastDocuments(counts.documents.length)), entitiesMax)
  const edges = edgesOf(kept)
  const ids = Array.from({ length: kept.count }, (_, i) => hashed("ent", collection, kept.type[i]!, kept.key[i]!))
  const prints = Uint32Array.from(edges, ({ a, b }) =>
    ids[a]! < ids[b]! ? printOf(ids[a]!, ids[b]!) : printOf(ids[b]!, ids[a]!)
  ).sort()
  const edgesChanged = known === undefined ? 1 : changedShare(known.edges, prints)
  const reports = new Reports(kept, behaviour)
  const rows =
    communities || (known !== undefined && edgesChanged > CHANGED_MAX)
      ? communityRows(collection, ids, communitiesOf(edges), known?.communities ?? [], reports)
      : undefined
  // Sub-communities come after their parents, so the last one with an entity is the smallest.
  const communityOf = new Map(
    (rows ?? known?.communities ?? []).flatMap(({ id, members }) => members.map((member) => [member, id] as const))
  )
  return {
    entities: entityRows(kept, ids, edges, reports, communityOf, kept.documentIds, synonyms),
    communities: rows,
    edges: prints,
    edgesChanged,
    documents: counts.documents.length,
    leftOut: counts.leftOut
  }
}
