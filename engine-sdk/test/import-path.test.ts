/**
 * Whatever an import computes without strings must equal the plain computation: byte order, sort keys, numbers of words
 * and values, merged tables.
 */
import { describe, expect, it } from "vitest"
import { asciiSortKey, sortKeyOfString } from "../src/analysis/sort-key.ts"
import { AsciiTokens } from "../src/analysis/ascii-tokens.ts"
import { FieldValues } from "../src/documents/field-values.ts"
import { parseDocument, parseJson, prepareWrite, stringifyJson } from "../src/documents/mod.ts"
import { floatText } from "../src/index/value-builder.ts"
import { byteOrder } from "../src/index/byte-order.ts"
import { compareBytes, encodeUtf8, hashBytes, hashText } from "../src/index/bytes.ts"
import { mergeTables, StringTable } from "../src/index/string-table.ts"
import { suiteField, suiteSchema } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

const tableOf = (texts: ReadonlyArray<Uint8Array>): { bytes: Uint8Array; starts: Uint32Array } => {
  const starts = new Uint32Array(texts.length + 1),
    bytes = new Uint8Array(texts.reduce((n, text) => n + text.length, 0))
  texts.forEach((text, i) => {
    bytes.set(text, starts[i])
    starts[i + 1] = starts[i] + text.length
  })
  return { bytes, starts }
}
/** Distinct texts with long common prefixes, zero bytes, and texts that are prefixes of others. */
const textsOf = (seed: number, count: number): Uint8Array[] => {
  const random = randomOf(seed),
    seen = new Map<string, Uint8Array>()
  const beginnings = ["", "a", "abcd", "abcdabcdabcd", "p1", "日本", "\u0000\u0000"]
  for (let i = 0; i < count; i++) {
    const text =
      random.pick(beginnings) +
      Array.from({ length: Math.floor(random.next() * 9) }, () =>
        random.pick(["\u0000", "a", "b", "z", "é", "0", "\u007f"])
      ).join("")
    seen.set(text, new TextEncoder().encode(text))
  }
  return [...seen.values()]
}

describe("byte order", () => {
  it("is the same as byte by byte, for any sizes", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const texts = textsOf(seed, [0, 1, 5, 11, 13, 400, 3_000][seed % 7])
      const { bytes, starts } = tableOf(texts)
      const wanted = texts
        .map((_text, i) => i)
        .sort((a, b) => compareBytes(texts[a], 0, texts[a].length, texts[b], 0, texts[b].length))
      expect([...byteOrder(bytes, starts, texts.length)]).toEqual(wanted)
    }
  })
  it("sorts more texts than fit into one round", () => {
    const texts = Array.from({ length: 270_000 }, (_text, i) =>
      new TextEncoder().encode(((i * 7_919) % 270_000).toString(36))
    )
    const { bytes, starts } = tableOf(texts)
    const order = byteOrder(bytes, starts, texts.length)
    for (let i = 1; i < order.length; i++)
      if (
        compareBytes(
          bytes,
          starts[order[i - 1]],
          starts[order[i - 1] + 1],
          bytes,
          starts[order[i]],
          starts[order[i] + 1]
        ) >= 0
      )
        throw new Error(`not ascending at ${i}`)
  })
})

describe("merged tables", () => {
  it("contain every key of any source once, and map each source's entries", () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = randomOf(seed)
      const sources = Array.from({ length: Math.floor(random.next() * 5) }, (_source, s) => {
        const { bytes, starts } = tableOf(textsOf(seed * 10 + s, 200))
        const order = byteOrder(bytes, starts, starts.length - 1)
        const sorted = tableOf([...order].map((i) => bytes.slice(starts[i], starts[i + 1])))
        return {
          table: new StringTable(sorted.bytes, sorted.starts),
          keep: random.next() < 0.5 ? undefined : Uint8Array.from(order, () => (random.next() < 0.5 ? 1 : 0))
        }
      })
      const work = mergeTables(
        sources.map(({ table }) => table),
        sources.map(({ keep }) => keep)
      )
      let step = work.next()
      while (step.done !== true) step = work.next()
      const { bytes, moved, offsets } = step.value
      const merged = new StringTable(bytes, offsets)
      const wanted = new Set(
        sources.flatMap(({ keep, table }) =>
          Array.from({ length: table.size }, (_entry, i) => i)
            .filter((i) => keep === undefined || keep[i] === 1)
            .map((i) => table.text(i))
        )
      )
      expect(merged.size).toBe(wanted.size)
      for (let i = 1; i < merged.size; i++)
        expect(compareBytes(bytes, offsets[i - 1], offsets[i], bytes, offsets[i], offsets[i + 1])).toBeLessThan(0)
      sources.forEach(({ keep, table }, s) => {
        for (let i = 0; i < table.size; i++)
          expect(moved[s][i] === 0xffffffff ? undefined : merged.text(moved[s][i])).toBe(
            keep === undefined || keep[i] === 1 ? table.text(i) : undefined
          )
      })
    }
  })
})

describe("the values of a document", () => {
  it("are found by name in any order, however many there are", () => {
    for (const count of [0, 1, 17, 32, 33, 200]) {
      const values = new FieldValues(),
        names = Array.from({ length: count }, (_, i) => `field${i}`)
      names.forEach((name, i) => values.set(name, i))
      const random = randomOf(count + 1)
      const asked = [...names, ...names.toReversed(), ...names.map(() => `field${Math.floor(random.next() * 400)}`)]
      for (const name of [...asked, "other"]) {
        const at = names.indexOf(name)
        expect(values.has(name)).toBe(at >= 0)
        expect(values.get(name)).toBe(at < 0 ? undefined : at)
      }
    }
  })
  it("do not include what a document inherits", () => {
    const fields = ["toString", "constructor", "__proto__", "hasOwnProperty"].map((name) =>
      suiteField(name, "string", { optional: true })
    )
    const prepare = (document: string) =>
      prepareWrite(
        suiteSchema("c", fields),
        { kind: "put", action: "create", dirtyValues: undefined, document },
        () => undefined,
        () => "1"
      )
    const without = prepare(`{"id":"1"}`),
      own = prepare(`{"id":"1","toString":"a","constructor":"b","__proto__":"c","hasOwnProperty":"d"}`)
    for (const { name } of fields) expect(without.ok && without.value.values.has(name)).toBe(false)
    expect(fields.map(({ name }) => own.ok && own.value.values.get(name))).toEqual(["a", "b", "c", "d"])
  })
})
describe("what an import computes", () => {
  it("includes the sort keys of ASCII texts that the reader computes", () => {
    const into = new AsciiTokens()
    for (let seed = 1; seed <= 2_000; seed++) {
      const random = randomOf(seed)
      const text = Array.from({ length: seed % 200 === 0 ? 2_300 : Math.floor(random.next() * 12) }, () =>
        random.pick(["a", "B", " ", "-", "\n", "9", "!", "é", "\u0301"].slice(0, seed % 3 === 0 ? 9 : 7))
      ).join("")
      if (!asciiSortKey(text, into)) {
        expect(/^[\x00-\x7f]*$/.test(text.slice(0, 2_000))).toBe(false)
        continue
      }
      expect(into.count === 0 ? "" : new TextDecoder().decode(into.bytes.subarray(0, into.ends[0]))).toBe(
        sortKeyOfString(text)
      )
    }
  })
  it("hashes an id like its bytes", () => {
    for (const id of ["", "p1", "日本", "a\u0000", "é", "\ud800", "x".repeat(300)]) {
      const bytes = encodeUtf8(id)
      expect(hashText(id)).toBe(hashBytes(bytes, 0, bytes.length))
    }
  })
  it("writes stored numbers as the shortest decimals of single precision", () => {
    const slow = (value: number): string => {
      const kept = Math.fround(value)
      for (let digits = 6; digits < 9; digits++) {
        const short = Number(kept.toPrecision(digits))
        if (Math.fround(short) === kept) return String(short)
      }
      return String(Number(kept.toPrecision(9)))
    }
    for (let seed = 1; seed <= 30_000; seed++) {
      const random = randomOf(seed)
      const value =
        random.pick([1, -1]) *
        random.pick([
          Math.round(random.next() * 2e6) / 100,
          random.next() * 20_000,
          random.next() * 1e-6,
          random.next() * 1e12,
          Math.floor(random.next() * 5) / 10,
          9_999.99 + random.next() / 50,
          0
        ])
      expect(floatText(value)).toBe(slow(value))
    }
  })
  it("reads every integer of a document exactly, wherever it is", () => {
    for (const text of [
      '{"a":9007199254740993}',
      '{"a":{"b":[1,[-9223372036854775808]]}}',
      '{"a":"9007199254740993","b":1}',
      '{"a":1e30,"b":[12345678901234567890]}',
      '{"a":0.12345678901234567}',
      '{"a":9007199254740991,"b":-9007199254740991}'
    ]) {
      const parsed = parseDocument(text)
      expect(parsed.ok && parsed.value).toEqual(parseJson(text))
      expect(parsed.ok && stringifyJson(parsed.value)).toBe(stringifyJson(parseJson(text)))
    }
    for (const number of ["1e999", "-1e+0400", "9".repeat(400)])
      expect(parseDocument(`{"a": {"b": [1, ${number}]}}`)).toMatchObject({
        ok: false,
        error: { message: "Bad JSON: a number is beyond 1.7e308." }
      })
    for (const number of ["1.7e308", "-1e-999", `0.${"9".repeat(400)}`])
      expect(parseDocument(`{"a": ${number}}`).ok).toBe(true)
    expect(parseDocument(`{"a":${"[".repeat(120)}9007199254740993${"]".repeat(120)}}`)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("nested") }
    })
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    expect(() => stringifyJson(cyclic)).toThrow()
  })
})
