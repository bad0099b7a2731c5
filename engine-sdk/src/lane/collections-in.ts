/** Collects the names of collections anywhere in a plan: joins occur in filters, sort keys, includes and facets. */
export const collectionsIn = (value: unknown, into = new Set<string>()): Set<string> => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return into
  if (Array.isArray(value)) {
    if (typeof value[0] === "object") for (const item of value) collectionsIn(item, into)
    return into
  }
  for (const [name, inner] of Object.entries(value)) {
    if (name === "collection" && typeof inner === "string") into.add(inner)
    else if (name !== "metadata") collectionsIn(inner, into)
  }
  return into
}
