/**
 * Members of an answer that came from another thread as JSON text: they go to the wire as they came, and are parsed
 * once when somebody reads them, who may change them. What a page of megabytes weighs on the thread that only passes it
 * on is its text, not its objects.
 */
import { parseJson } from "../../documents/mod.ts"
import type { FacetCount } from "../../plan.ts"

interface Written {
  readonly text: string
  readonly start?: ListStart
}
/** What of a list may be looked at without its text. */
interface ListStart {
  readonly head: ReadonlyArray<unknown>
  readonly length: number
}
/** What extends it puts private fields into the object that it is given. */
export class Given {
  constructor(given: object) {
    return given
  }
}
/** In a private field, as it costs no collection, and a copy of the object has none. */
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

/** Puts a member that is read from its text. */
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
/** The text, while nobody has had the value in hand. */
export const writtenText = (object: object, key: string): string | undefined => Members.known(object, key)?.text

/** Values of a facet that are kept beside its text. */
export const FACET_HEAD = 1_000
type Counts = FacetCount["counts"]
/** The first values of a facet, `FACET_HEAD` at most. O(`most`), however many there are. */
export const leadingCounts = (facet: FacetCount, most: number): Counts =>
  ((Members.known(facet, "counts")?.start?.head as Counts | undefined) ?? facet.counts).slice(
    0,
    Math.min(most, FACET_HEAD)
  )
/** How many values a facet has, without reading them. */
export const countsLength = (facet: FacetCount): number =>
  Members.known(facet, "counts")?.start?.length ?? facet.counts.length
