/**
 * A configuration write names one row of one kind, which a room reads for the audit log (`audited` in its `room.ts`).
 */
export type ConfigurationKind = string

/** The row, identified within an organization by its room. */
export interface Subject {
  readonly organizationId: string
  readonly id: string
}
export interface Change extends Subject {
  readonly kind: ConfigurationKind
}

/** Each subject once, by kind, in the order of the first change. O(changes). */
export const subjectsByKind = (
  changes: ReadonlyArray<Change>
): ReadonlyMap<ConfigurationKind, ReadonlyArray<Subject>> => {
  const kinds = new Map<ConfigurationKind, Map<string, Subject>>()
  for (const { id, kind, organizationId } of changes) {
    let subjects = kinds.get(kind)
    if (subjects === undefined) kinds.set(kind, (subjects = new Map()))
    subjects.set(JSON.stringify([organizationId, id]), { organizationId, id })
  }
  return new Map([...kinds].map(([kind, subjects]) => [kind, [...subjects.values()]]))
}
