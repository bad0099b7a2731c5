/**
 * Members of an answer that arrived from another thread as JSON text. They go to the wire unchanged and are parsed
 * once, when a caller reads them; the caller may change the parsed object. A page of megabytes that a thread only
 * passes on costs it the text, not the objects.
 */
import { parseJson } from "../../documents/mod.ts"
import type { FacetCount } from "../../plan.ts"

interface Written {
  readonly text: string
  readonly start?: ListStart
}
/** What can be read of a list without parsing its text. */
interface ListStart {
  readonly head: ReadonlyArray<unknown>
  readonly length: number
}
/** A class that extends it adds private fields to the object it is given. */
export class Given {
  constructor(given: object) {
    return given
  }
}
/** A private field costs no garbage collection, and a copy of the object does not have it. */
class Members extends Given {
  readonly #written = new Map<string, Written>()
  private constructor(object: object) {
    super(object)
  }
  static of(object: object): Map<string, Written> {
    return #written in object ? object.#written : (new Members(object) as Members).#written
  }
  static known(object: object, key: string): Written | undefined {
    return #written in object ? object.#written.get(key) : undefined
  }
}

/** Defines a member that is parsed from its text when read. */
export const putWritten = (object: object, key: string, text: string, start?: ListStart): void => {
  const members = Members.of(object)
  members.set(key, start === undefined ? { text } : { text, start })
  const put = (value: unknown): void => {
    members.delete(key)
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  }
  Object.defineProperty(object, key, {
    enumerable: true,
    configurable: true,
    set: put,
    get: () => {
      const value = parseJson(text)
      put(value)
      return value
    }
  })
}
/** The text, as long as the value has not been read. */
export const writtenText = (object: object, key: string): string | undefined => Members.known(object, key)?.text

/** Facet values that are kept parsed beside the text. */
export const FACET_HEAD = 1_000
type Counts = FacetCount["counts"]
/** The first values of a facet, `FACET_HEAD` at most. O(`most`), independent of the number of values. */
export const leadingCounts = (facet: FacetCount, most: number): Counts =>
  ((Members.known(facet, "counts")?.start?.head as Counts | undefined) ?? facet.counts).slice(
    0,
    Math.min(most, FACET_HEAD)
  )
/** Number of values of a facet, without parsing them. */
export const countsLength = (facet: FacetCount): number =>
  Members.known(facet, "counts")?.start?.length ?? facet.counts.length
