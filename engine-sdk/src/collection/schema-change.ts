/** The changes that give a stored collection the declared fields. Pure. */
import type { SchemaChange } from "../engine.ts"
import type { CollectionSchema, Field } from "../schema.ts"

/**
 * undefined if no change is needed. Detected fields stay unless a declared one takes their name. The engine checks
 * additions and drops against all stored documents.
 */
export const changeTo = (declared: ReadonlyArray<Field>, stored: CollectionSchema): SchemaChange | undefined => {
  const wanted = new Map(declared.map((field) => [field.name, field]))
  const kept = new Set<string>()
  const drop: string[] = []
  for (const field of stored.fields) {
    const same = wanted.get(field.name)
    if (same === undefined ? field.detected === true : isSame(field, same)) kept.add(field.name)
    else drop.push(field.name)
  }
  const add = declared.filter(({ name }) => !kept.has(name))
  return drop.length === 0 && add.length === 0 ? undefined : { drop, add }
}
const isSame = (a: Field, b: Field): boolean => {
  const names = new Set([...Object.keys(a), ...Object.keys(b)] as Array<keyof Field>)
  names.delete("detected")
  return [...names].every((name) => JSON.stringify(a[name]) === JSON.stringify(b[name]))
}
