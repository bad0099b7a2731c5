/** Documents with all words of a combination: lists, sets and blocks must find what a check of every document finds. */
import { expect, it } from "vitest"
import { bitsOf, hasBit, setBit } from "../src/index/bits.ts"
import type { TextColumn } from "../src/index/columns.ts"
import { fillSet, type ListSet } from "../src/index/list-sets.ts"
import { jointSet, listOfSet, matchingDocs, rarestWord, type PostingList } from "../src/search/text/candidates.ts"
import { addSet, countWithin } from "../src/search/text/common-words.ts"
import { DocLists } from "../src/search/text/doc-lists.ts"
import { randomOf, type Random } from "./random.ts"

/** A field with one word, which has a set if `hasSet`. Similar documents are neighbours, so its documents are, too. */
const columnOf = (random: Random, docs: number, share: number, hasSet: boolean): TextColumn => {
  const own: number[] = []
  for (let doc = 0, isRun = false; doc < docs; doc++) {
    if (doc % 50 === 0) isRun = random.chance(share * 2)
    if (isRun ? random.chance(0.5) : random.chance(share / 20)) own.push(doc)
  }
  if (own.length === 0) own.push(random.below(docs))
  const postings = Uint32Array.from(own)
  const set: ListSet = {
    bits: bitsOf(docs),
    firsts: new Uint16Array((docs + 31) >>> 5),
    bases: new Uint32Array((docs >>> 16) + 1)
  }
  fillSet(set, postings, 0, postings.length)
  return {
    docs: postings,
    starts: Uint32Array.of(0, postings.length),
    frequency: () => postings.length,
    setOf: () => (hasSet ? set : undefined)
  } as unknown as TextColumn
}

const FIELDS_MAX = 7
it.each([500, 40_000])("finds the documents that every word is in, in segments of %i", (docs) => {
  const random = randomOf(docs)
  const space = new DocLists()
  for (let n = 0; n < 150; n++) {
    space.clear()
    const words = 1 + random.below(4)
    const lists: PostingList[] = []
    for (let word = 0; word < words; word++)
      for (let field = 0, fields = 1 + random.below(FIELDS_MAX); field < fields; field++) {
        const column = columnOf(random, docs, random.pick([0.001, 0.02, 0.1, 0.4]), random.chance(0.6))
        lists.push({ word, field, term: 0, column })
      }
    const allowed = random.chance(0.5) ? bitsOf(docs) : undefined
    if (allowed !== undefined) for (let doc = 0; doc < docs; doc++) if (random.chance(0.5)) setBit(allowed, doc)
    const holding = Array.from({ length: words }, () => bitsOf(docs))
    for (const { column, word } of lists) for (const doc of column.docs) setBit(holding[word], doc)
    const expected: number[] = []
    for (let doc = 0; doc < docs; doc++)
      if (holding.every((own) => hasBit(own, doc)) && (allowed === undefined || hasBit(allowed, doc)))
        expected.push(doc)

    expect([...(matchingDocs(lists, words, allowed, docs, space) ?? [])]).toEqual(expected)
    // Whatever its size, the same as blocks, of which some documents were found before.
    const { lead } = rarestWord(lists, words)
    const joint = jointSet(lists, words, lead, allowed, docs)
    expect(countWithin(joint)).toBe(expected.length)
    expect([...listOfSet(joint, expected.length, space)]).toEqual(expected)
    const found = bitsOf(docs)
    for (const doc of expected) if (doc % 3 === 0) setBit(found, doc)
    expect(addSet(joint, found)).toBe(expected.filter((doc) => doc % 3 !== 0).length)
    expect(expected.every((doc) => hasBit(found, doc))).toBe(true)
  }
})
