/** Fields of a body that is parsed but not decoded, needed before it is checked. */
type Fields = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
export const textIn = (body: unknown, name: string): ReadonlyArray<string> => {
  const value = isObject(body) && Object.hasOwn(body, name) ? body[name] : undefined
  return typeof value === "string" ? [value] : []
}
export const listIn = (body: unknown, name: string): ReadonlyArray<unknown> => {
  const value = isObject(body) && Object.hasOwn(body, name) ? body[name] : undefined
  return Array.isArray(value) ? value : []
}
