/**
 * What a profile decides about a search: the part that a release freezes. `is_default` is not part of it. Pure; the
 * same manifest is the same JSON text.
 */
interface ProfileSort {
  readonly id: string
  readonly label: string
  readonly sort_by: string
}
interface ProfileFacet {
  readonly field: string
  readonly label: string
}
/** The weight of meaning relative to words, and how it was chosen. */
export interface ProfileMeaning {
  /** 0: words only. */ readonly weight: number
  /** Judged queries by which it was chosen; absent if a person chose it. */ readonly chosen?: {
    readonly suite_id: string
    readonly queries: number
    readonly ndcg_at_10: ReadonlyArray<{ readonly weight: number; readonly ndcg_at_10: number }>
    readonly cross_validated: number
    /** Unix milliseconds. */ readonly chosen_at: number
  }
}
export interface ProfileManifest {
  readonly label: string
  readonly searchable_fields: ReadonlyArray<string>
  readonly facet_fields: ReadonlyArray<ProfileFacet>
  /** Fields that a client's `filter_by` may name; if empty, it may not filter. */
  readonly filterable_fields: ReadonlyArray<string>
  readonly sorts: ReadonlyArray<ProfileSort>
  /** Id of one of `sorts`; empty: the engine's order. */ readonly default_sort_id: string
  readonly fixed_filter_by: string
  /** If empty, the searched fields are highlighted. */ readonly highlight_fields: ReadonlyArray<string>
  readonly per_page_max: number
  /** Name of a stored policy; empty: none. The policy is read at search time. */ readonly search_policy: string
  /** If absent, only words are searched. */ readonly meaning?: ProfileMeaning
}

export const PER_PAGE_MAX = 250

/** The fields of a body that make a manifest. */
interface ManifestFields {
  readonly label?: string | undefined
  readonly searchable_fields: ReadonlyArray<string>
  readonly facet_fields?: ReadonlyArray<{ readonly field: string; readonly label?: string | undefined }> | undefined
  readonly filterable_fields?: ReadonlyArray<string> | undefined
  readonly sorts?:
    | ReadonlyArray<{ readonly id: string; readonly label?: string | undefined; readonly sort_by: string }>
    | undefined
  readonly default_sort_id?: string | undefined
  readonly fixed_filter_by?: string | undefined
  readonly highlight_fields?: ReadonlyArray<string> | undefined
  readonly per_page_max?: number | undefined
  readonly search_policy?: string | undefined
  readonly meaning?: ProfileMeaning | undefined
}
/** Complete, with its keys in a fixed order. A facet without a label gets the name of its field, a sort its id. */
export const manifestOf = (fields: ManifestFields): ProfileManifest => ({
  label: fields.label ?? "",
  searchable_fields: fields.searchable_fields,
  facet_fields: (fields.facet_fields ?? []).map(({ field, label }) => ({ field, label: label ?? field })),
  filterable_fields: fields.filterable_fields ?? [],
  sorts: (fields.sorts ?? []).map(({ id, label, sort_by }) => ({ id, label: label ?? id, sort_by })),
  default_sort_id: fields.default_sort_id ?? "",
  fixed_filter_by: fields.fixed_filter_by ?? "",
  highlight_fields: fields.highlight_fields ?? [],
  per_page_max: fields.per_page_max ?? PER_PAGE_MAX,
  search_policy: fields.search_policy ?? "",
  // Absent if not specified, so that earlier manifests stay unchanged.
  ...(fields.meaning === undefined ? {} : { meaning: fields.meaning })
})
/** An unchanged weight keeps the figures by which it was chosen. */
export const withFigures = (manifest: ProfileManifest, before: ProfileManifest): ProfileManifest =>
  manifest.meaning !== undefined && manifest.meaning.weight === before.meaning?.weight
    ? { ...manifest, meaning: before.meaning }
    : manifest
export const isSameManifest = (a: ProfileManifest, b: ProfileManifest): boolean =>
  JSON.stringify(a) === JSON.stringify(b)

interface ManifestDifference {
  /** E.g. `sorts[1].sort_by`. */ readonly path: string
  /** Null if there is nothing at the path. */ readonly before: unknown
  readonly after: unknown
}
/** Path by path, in the order of the later manifest. O(both). */
export const differencesOf = (before: unknown, after: unknown, path = ""): ReadonlyArray<ManifestDifference> => {
  const below = (value: unknown): ReadonlyArray<string> =>
    typeof value === "object" && value !== null ? Object.keys(value) : []
  const names = [...new Set([...below(after), ...below(before)])]
  const isLeaf = [before, after].every((value) => typeof value !== "object" || value === null)
  if (isLeaf) return before === after ? [] : [{ path, before: before ?? null, after: after ?? null }]
  const at = (value: unknown, name: string): unknown =>
    typeof value === "object" && value !== null && Object.hasOwn(value, name)
      ? (value as Readonly<Record<string, unknown>>)[name]
      : undefined
  const isList = Array.isArray(after) || Array.isArray(before)
  return names.flatMap((name) =>
    differencesOf(
      at(before, name),
      at(after, name),
      isList ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
    )
  )
}
