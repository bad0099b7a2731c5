/** A document's values at a path. */

/** Limit per field and document. */
const VALUES_MAX = 50

/** Texts at a path, through objects and lists, at most `VALUES_MAX`. */
export const textsAt = (document: Readonly<Record<string, unknown>>, field: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const walk = (value: unknown, path: ReadonlyArray<string>): void => {
    if (found.length >= VALUES_MAX) return
    if (Array.isArray(value)) for (const each of value) walk(each, path)
    else if (path.length === 0) {
      if (typeof value === "string" && value !== "") found.push(value)
    } else if (typeof value === "object" && value !== null) {
      const [name, ...rest] = path
      if (Object.hasOwn(value, name!)) walk((value as Readonly<Record<string, unknown>>)[name!], rest)
    }
  }
  if (Object.hasOwn(document, field)) walk(document[field], [])
  else walk(document, field.split("."))
  return found
}
