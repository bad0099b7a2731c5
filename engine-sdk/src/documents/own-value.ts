/**
 * Access to members of JSON objects whose names come from outside. A plain object returns inherited values for
 * `constructor` and the like, and takes a value for `__proto__` as its prototype; documents may have fields of these
 * names.
 */
type Members = { readonly [key: string]: unknown }

/** An object's own member. */
export const ownValue = (object: Members, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined
/** Sets an own member, whatever its name. */
export const putOwn = (object: { [key: string]: unknown }, name: string, value: unknown): void => {
  if (name === "__proto__")
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  else object[name] = value
}
/** Copies all own members of another object, like `Object.assign` without its special treatment of prototypes. */
export const putAllOwn = (object: { [key: string]: unknown }, more: Members): void => {
  for (const name of Object.keys(more)) putOwn(object, name, more[name])
}
