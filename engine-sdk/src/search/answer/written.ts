/**
 * Members of an answer that arrived from another thread as JSON text. They go to the wire unchanged and are parsed
 * once, when a caller reads them; the caller may change the parsed object. A thread that only passes on a page of
 * megabytes therefore handles its text, not its objects.
 */
import { parseJson } from "../../documents/mod.ts"
import type { FacetCount } from "../../plan.ts"

interface Written {
  readonly text: string
  readonly start?: ListStart
}
/** The part of a list that can be read without parsing its text. */
interface ListStart {
  /** Absent if the list is short enough to be parsed whole. */ readonly head?: ReadonlyArray<unknown>
  readonly length: number
}
/** A subclass adds private fields to the object that it is given. */
export class Given {
  constructor(given: object) {
    return given
  }
}
/** A private field does not burden the garbage collector, and a copy of the object does not have it. */
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

/** Defines a member that is parsed from its text when it is read. */
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

/** Number of facet values that are kept parsed in addition to the text. */
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
