/**
 * The index of a unit as a derived section: its arrays in sequence in shared memory. The section's name identifies what
 * it was built from; a section of another version is never looked up and is rebuilt.
 */
import { hasStemmer, stemmerMissing } from "../../analysis/stemmer.ts"
import { arraysOf, sectionsOf, type DerivedSection } from "../../index/derived-sections.ts"
import { SectionWriter, type Allocate } from "../../index/sections.ts"
import type { Segment } from "../../index/segment.ts"
import { StringTable } from "../../index/string-table.ts"
import type { RelevanceUnit } from "../../plan.ts"
import { UnitIndex } from "./unit-index.ts"

/** Must be raised with every change to what counts as a word (`words.ts`) or to the layout of an index. */
const VERSION = 2
const FAMILY = "relevance "
const PREFIX = `${FAMILY}${VERSION} `
/** The stemming library is optional: indexes with and without stemmed words have different names. */
const hasRoots = (locale: string): boolean => hasStemmer(locale) && stemmerMissing(locale) === undefined
const names = new WeakMap<RelevanceUnit, string>()
export const sectionNameOf = (unit: RelevanceUnit): string => {
  let known = names.get(unit)
  if (known === undefined) {
    const { locale, name, prefix } = unit
    names.set(unit, (known = PREFIX + JSON.stringify([name, prefix ?? null, locale, hasRoots(locale)])))
  }
  return known
}
/** The names of the units, as in `query_by`, whose indexes every one of these segments has. */
export const indexedNames = (segments: ReadonlyArray<Segment>): ReadonlyArray<string> => {
  const [first, ...others] = segments.map(sectionsOf)
  return [...(first?.keys() ?? [])].flatMap((section) => {
    if (!section.startsWith(PREFIX) || !others.every((sections) => sections.has(section))) return []
    const [name, , locale, isStemmed] = JSON.parse(section.slice(PREFIX.length)) as [string, unknown, string, boolean]
    return isStemmed === hasRoots(locale) ? [name] : []
  })
}
/** Includes those of other versions, which are removed when the current ones take their place. */
export const isUnitSection = (name: string): boolean => name.startsWith(FAMILY)

/** Yields between steps; a caller that starts it must run it to the end. */
export function* putUnit(index: UnitIndex, allocate: Allocate): Generator<void, Omit<DerivedSection, "id" | "name">> {
  const out = new SectionWriter()
  const { surfaces, terms } = index
  out.put("sums", Float64Array.of(index.lengthTotal, index.docsWith))
  out.put("terms.bytes", terms.bytes)
  out.put("terms.offsets", terms.offsets)
  out.put("hashes", index.hashes)
  out.put("starts", index.starts)
  out.put("postingDocs", index.postingDocs)
  out.put("occurrences", index.occurrences)
  out.put("surfaces.bytes", surfaces.terms.bytes)
  out.put("surfaces.offsets", surfaces.terms.offsets)
  out.put("surfaces.shared", surfaces.shared)
  out.put("surfaces.termOf", surfaces.termOf)
  out.put("streamStarts", index.streamStarts)
  out.put("stream", index.stream)
  out.put("lengths", index.lengths)
  return yield* out.finishing(index.docs, [], allocate)
}
const readUnit = (section: DerivedSection): UnitIndex => {
  const arrays = arraysOf(section)
  const [lengthTotal, docsWith] = arrays.f64("sums")
  return new UnitIndex({
    docs: section.meta.docs,
    terms: StringTable.read(arrays, "terms."),
    hashes: arrays.u32("hashes"),
    starts: arrays.u32("starts"),
    postingDocs: arrays.u32("postingDocs"),
    occurrences: arrays.u16("occurrences"),
    surfaces: {
      terms: StringTable.read(arrays, "surfaces."),
      shared: arrays.u8("surfaces.shared"),
      termOf: arrays.u32("surfaces.termOf")
    },
    streamStarts: arrays.u32("streamStarts"),
    stream: arrays.isOfShorts("stream") ? arrays.u16("stream") : arrays.u32("stream"),
    lengths: arrays.u16("lengths"),
    lengthTotal,
    docsWith
  })
}
/** One object per section, because derived data identifies indexes by it. */
const read = new WeakMap<DerivedSection, UnitIndex>()
export const attachedUnit = (segment: Segment, unit: RelevanceUnit): UnitIndex | undefined => {
  const sections = sectionsOf(segment)
  if (sections.size === 0) return undefined
  const section = sections.get(sectionNameOf(unit))
  if (section === undefined) return undefined
  let index = read.get(section)
  if (index === undefined) read.set(section, (index = readUnit(section)))
  return index
}
