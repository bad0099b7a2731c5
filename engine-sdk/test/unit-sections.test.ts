/** After an upgrade, stored indexes of units that an older version wrote are neither read nor kept. */
import { expect, it } from "vitest"
import { SegmentBuilder } from "../src/index/builders.ts"
import { attachSections, sectionsOf, type DerivedSection } from "../src/index/derived-sections.ts"
import { allocatePlain } from "../src/index/sections.ts"
import { Segment } from "../src/index/segment.ts"
import type { RelevanceUnit } from "../src/plan.ts"
import { attachedUnit, indexedNames, isUnitSection, sectionNameOf } from "../src/search/relevance/unit-sections.ts"
import { SegmentSections } from "../src/store/segment-sections.ts"
import { suiteField, suiteSchema } from "../src/testing/engine-suite.ts"

const schema = suiteSchema("c", [suiteField("title", "string")])
const title: RelevanceUnit = { name: "title", prefix: undefined, weight: 1, locale: schema.fields[0].locale }
const DOCS = 3_000
const segmentOf = (): Segment => {
  const builder = new SegmentBuilder(schema, undefined)
  for (let doc = 0; doc < DOCS; doc++) builder.add(doc, `d${doc}`, new Map([["title", `kettle n${doc}`]]))
  const { meta, region } = builder.finish(allocatePlain)
  return new Segment(1, meta, region)
}
/** A section of another version; what is in it cannot be read. */
const oldSection = (): DerivedSection => {
  const name = sectionNameOf(title).replace(/^relevance \d+ /, "relevance 1 ")
  expect(name).not.toBe(sectionNameOf(title))
  return { name, id: 7, meta: { docs: DOCS, bytes: 8, columns: [] } as never, region: allocatePlain(8) }
}

it("gives way to the current version, and is released", async () => {
  const segment = segmentOf(),
    old = oldSection(),
    other: DerivedSection = { ...old, name: "something else", id: 8 }
  attachSections(segment, [old, other])
  expect(isUnitSection(old.name)).toBe(true)
  expect(indexedNames([segment])).toEqual([])
  expect(attachedUnit(segment, title)).toBeUndefined()

  const views = [{ segment, deleted: undefined, deletedCount: 0 }]
  let number = 10
  const dropped: unknown[] = []
  const sections = new SegmentSections({
    schema: () => schema,
    views: () => views,
    text: (doc: number) => JSON.stringify({ id: `d${doc}`, title: `kettle n${doc}` }),
    allocate: allocatePlain,
    takeNumber: () => number++,
    isWriting: () => false,
    release: () => {},
    publish: (_sections: unknown, regions: ReadonlyArray<unknown>) => dropped.push(...regions),
    sent: () => Promise.resolve(),
    behind: (work: Promise<void>) => work
  } as unknown as ConstructorParameters<typeof SegmentSections>[0])
  await sections.ask([title])
  expect(indexedNames([segment])).toEqual(["title"])
  expect(attachedUnit(segment, title)?.docs).toBe(DOCS)
  expect([...sectionsOf(segment).keys()]).not.toContain(old.name)
  expect([...sectionsOf(segment).keys()]).toContain("something else")
  expect(dropped).toEqual([old.region])
  await sections.close()
})
