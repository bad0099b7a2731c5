/**
 * What facts are about: a query or a document of one organization and collection, on one kind of device. Attribution
 * looks up a subject once for each fact, and the subject is numbered within the flush; processors keep their sums in
 * arrays by that number and need no further look-ups. A shop's queries and products recur with every flush, and finding
 * them again cost more than counting them, so a partition keeps its subjects between flushes.
 */

/** The organization first, then the other parts. */
export type Key = ReadonlyArray<string>

const NONE = -1

export class Subject {
  readonly key: Key
  /** The last flush that counted it, and its number within that flush. */
  generation = NONE
  number = NONE

  constructor(key: Key) {
    this.key = key
  }
}

/**
 * Builds a key from the parts by which a subject is found. Called once per subject: a closure at each call would cost
 * more than the look-up.
 */
export type KeyOf = (a: string, b: string, c: string, d: string, e: string, last: string) => Key

/** Subjects whose keys differ only in their last part. */
interface Shelf {
  readonly a: string
  readonly b: string
  readonly c: string
  readonly d: string
  readonly e: string
  readonly subjects: Map<string, Subject>
}

interface Level extends Map<string, Level | Shelf> {}
const below = (level: Level, part: string): Level => {
  let next = level.get(part) as Level | undefined
  if (next === undefined) level.set(part, (next = new Map()))
  return next
}

/** Memory of a subject, without the text that distinguishes it on its shelf. */
const SUBJECT_BYTES = 300

/** The subjects of one kind in a partition. Only one flush at a time numbers them. */
export class KnownSubjects {
  /**
   * Compared part by part: each part is short and mostly the same string as last time, whereas a joined text of all
   * five would have to be built and hashed each time.
   */
  #shelves: Level = new Map()
  /** The shelf found last, because events of a visit are adjacent. */
  #shelf: Shelf | undefined
  #bytes = 0
  readonly #keyOf: KeyOf

  constructor(keyOf: KeyOf) {
    this.#keyOf = keyOf
  }

  /** Approximate; a query may have thousands of characters. */
  get bytes(): number {
    return this.#bytes
  }
  find(a: string, b: string, c: string, d: string, e: string, last: string): Subject {
    let shelf = this.#shelf
    if (shelf === undefined || shelf.a !== a || shelf.b !== b || shelf.c !== c || shelf.d !== d || shelf.e !== e) {
      const under = below(below(below(below(this.#shelves, a), b), c), d) as Map<string, Shelf>
      shelf = under.get(e)
      if (shelf === undefined) under.set(e, (shelf = { a, b, c, d, e, subjects: new Map() }))
      this.#shelf = shelf
    }
    let subject = shelf.subjects.get(last)
    if (subject === undefined) {
      shelf.subjects.set(last, (subject = new Subject(this.#keyOf(a, b, c, d, e, last))))
      this.#bytes += SUBJECT_BYTES + 2 * last.length
    }
    return subject
  }
  clear(): void {
    this.#shelves = new Map()
    this.#shelf = undefined
    this.#bytes = 0
  }
}

/** Forgets all subjects of several kinds if they take more than `bytes_max` together. Call between two flushes. */
export const boundSubjects = (known: ReadonlyArray<KnownSubjects>, bytes_max: number): void => {
  if (known.reduce((sum, { bytes }) => sum + bytes, 0) > bytes_max) for (const kind of known) kind.clear()
}

let generations = 0

/** The subjects of one kind that one flush counts, by number. Once a later flush has begun, none is added any more. */
export class FlushSubjects {
  readonly generation = ++generations
  readonly #known: KnownSubjects
  readonly #all: Array<Subject> = []

  constructor(known: KnownSubjects) {
    this.#known = known
  }

  get size(): number {
    return this.#all.length
  }
  /**
   * The subject of a key, identified by its last part and the five before it (the organization first); all other parts
   * of the key must depend on those.
   */
  of(a: string, b: string, c: string, d: string, e: string, last: string): Subject {
    const subject = this.#known.find(a, b, c, d, e, last)
    if (subject.generation !== this.generation) {
      subject.generation = this.generation
      subject.number = this.#all.push(subject) - 1
    }
    return subject
  }
  keyAt(number: number): Key {
    return this.#all[number]!.key
  }
}
