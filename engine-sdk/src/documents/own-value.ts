/**
 * Members of JSON objects under names that somebody outside chose. A plain object answers `constructor` and its like
 * with what every object inherits, and takes a value for `__proto__` as its prototype; documents may have fields of
 * these names.
 */
type Members = { readonly [key: string]: unknown }

/** The member that the object has itself. */
export const ownValue = (object: Members, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined
/** Sets a member of the object itself, whatever its name. */
export const putOwn = (object: { [key: string]: unknown }, name: string, value: unknown): void => {
  if (name === "__proto__")
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  else object[name] = value
}
/** All own members of another object, as `Object.assign` without its eye for prototypes. */
export const putAllOwn = (object: { [key: string]: unknown }, more: Members): void => {
  for (const name of Object.keys(more)) putOwn(object, name, more[name])
}
