/** Readers of feeds: any split of the bytes, any encoding, broken parts, and feeds made to break their reader. */
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { Stream } from "effect"
import { generateYml } from "../../../fixtures/feeds/yml.ts"
import { batchesOf } from "../../../src/ingest/feeds/batches.ts"
import { charsetOf } from "../../../src/ingest/readers/charset.ts"
import { delimiterOf } from "../../../src/ingest/readers/csv.ts"
import type { FeedItem, ReaderOptions } from "../../../src/ingest/readers/reader.ts"
import { readerOf } from "../../../src/ingest/readers/readers.ts"
import { SeenIds } from "../../../src/ingest/running/seen-ids.ts"
import { decoded } from "../../../src/ports/outbound-http/decode.ts"

async function* cut(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const read = async (format: string, feed: string | Uint8Array, size = 65_536, options: ReaderOptions = {}) => {
  const items: Array<FeedItem> = []
  const bytes = typeof feed === "string" ? Buffer.from(feed) : feed
  for await (const some of readerOf(format)!(cut(bytes, size), options)) items.push(...some)
  return items
}
const documents = (items: ReadonlyArray<FeedItem>): ReadonlyArray<any> =>
  items.flatMap((item) => (item.kind === "record" && item.change.op === "upsert" ? [item.change.document] : []))
const faults = (items: ReadonlyArray<FeedItem>) =>
  items.flatMap((item) => (item.kind === "fault" ? [[item.id, item.error]] : []))
const yml = (offers: string, categories = "") =>
  `<yml_catalog><shop><categories>${categories}</categories><offers>${offers}</offers></shop></yml_catalog>`
/** Cyrillic letters encoded as windows-1251. */
const windows1251 = (text: string) =>
  Buffer.from(
    [...text].map((letter) => {
      const code = letter.codePointAt(0)!
      return code < 128 ? code : code === 0x451 ? 0xb8 : code - 0x410 + 0xc0
    })
  )

describe("a feed", () => {
  it("is read the same however its bytes are split", async () => {
    const feeds: ReadonlyArray<readonly [string, string]> = [
      ["yml", [...generateYml({ seed: 7, offers: 40 })].join("")],
      ["csv", 'id;title\n1;"Лампа; с ""кавычками""\nи строкой"\n2;x\n3\n4;ё\n'],
      ["jsonl", '{"id":"1","title":"Лампа"}\r\n\n[]\n{"id":2}\n{"id":"3","title":"без конца"}'],
      [
        "google_xml",
        `<feed xmlns:g="x"><entry><g:id>1</g:id><title>Лампа</title><link href="https://a.example/1"/></entry></feed>`
      ]
    ]
    for (const [format, feed] of feeds) {
      const whole = await read(format, feed)
      expect(documents(whole).length, format).toBeGreaterThan(0)
      for (const size of [1, 2, 3, 7, 64, 1_000])
        expect(await read(format, feed, size), `${format} ${size}`).toEqual(whole)
    }
  })
  it("gives the same batches again, and only later ones after a cursor", async () => {
    const feed = Buffer.from([...generateYml({ seed: 3, offers: 2_300 })].join(""))
    const batches = async (from: number, size: number) => {
      const all = []
      for await (const batch of batchesOf(readerOf("yml")!(cut(feed, size), {}), {
        from,
        progress: () => undefined,
        state: {}
      }))
        all.push(batch)
      return all
    }
    const whole = await batches(0, 65_536)
    expect(whole.map(({ cursor }) => cursor)).toEqual([500, 1_000, 1_500, 2_000, 2_300])
    expect(await batches(0, 999)).toEqual(whole)
    expect((await batches(1_000, 500)).map(({ changes }) => changes)).toEqual(
      whole.slice(2).map(({ changes }) => changes)
    )
  })
  it("in windows-1251, UTF-16 and others is decoded as declared, or as detected", async () => {
    const text = "Настольная лампа ё"
    const xml = Buffer.concat([
      Buffer.from('<?xml version="1.0" encoding="windows-1251"?><yml_catalog><shop><offers><offer id="1"><name>'),
      windows1251(text),
      Buffer.from("</name></offer></offers></shop></yml_catalog>")
    ])
    for (const size of [1, 10, 65_536]) expect(documents(await read("yml", xml, size))[0].title).toBe(text)
    const csv = `id;title\n1;${text}\n`
    expect(documents(await read("csv", windows1251(csv)))[0].title).toBe(text)
    expect(documents(await read("csv", Buffer.from(`\ufeff${csv}`)))[0]).toEqual({ id: "1", title: text })
    expect(documents(await read("csv", Buffer.from(`\ufeff${csv}`, "utf16le")))[0].title).toBe(text)
    expect(charsetOf(Buffer.from("Größe;Café", "latin1"))).toBe("windows-1252")
    await expect(read("yml", '<?xml version="1.0" encoding="klingon"?><yml_catalog/>')).rejects.toThrow("klingon")
  })
  it("that is compressed is decompressed within its bounds", async () => {
    const pieces = (bytes: Uint8Array) =>
      decoded(
        Stream.fromAsyncIterable(cut(bytes, 1_000), () => undefined as never),
        { encoding: undefined, bytesMax: 50_000_000, unpacksFiles: true }
      )
    const all = async (bytes: Uint8Array) => {
      const items: Array<FeedItem> = []
      for await (const some of readerOf("jsonl")!(Stream.toAsyncIterable(pieces(bytes)), {})) items.push(...some)
      return items
    }
    expect(documents(await all(gzipSync('{"id":"1"}')))).toEqual([{ id: "1" }])
    await expect(all(gzipSync(Buffer.alloc(40_000_000, " ")))).rejects.toThrow("more than 100 times")
  })
})

describe("YML", () => {
  it("continues after broken parts, and says where they were", async () => {
    const items = await read(
      "yml",
      `<yml_catalog>\n<shop>\n<offers>
<offer id="1"><name>Good</name></offer>
<offer id="2"><name>Bold <b>lamp</name></offer>
<offer><name>No id</name></offer>
<offer id="4"><price>5</price></offer>
<offer id="5"><name>Wrong</name><price>dear</price></offer>
<offer id="1"><name>Twice</name></offer>
<offer id="7"><name>${"x".repeat(1_000_001)}</name></offer>
<offer id="8"><name>AT&T &nbsp;&laquo;x&raquo;</name></offer>
<offer id="9"><name>Last</name></offer></offers></shop></yml_catalog>`
    )
    expect(documents(items).map(({ id }) => id)).toEqual(["1", "9"])
    expect(faults(items)).toEqual([
      ["2", "Line 5 is no XML: unexpected close tag."],
      ["line 6", "The offer has no `id`"],
      ["4", "It has neither `name` nor `model`"],
      ["5", "Its price `dear` is no number"],
      ["1", "Line 9: another offer before it has this id"],
      ["7", "The offer is larger than a megabyte"],
      ["8", expect.stringContaining("Line 11 is no XML")]
    ])
  })
  it("shows unusable parts of a feed where its owner sees them", async () => {
    const [first, second] = documents(
      await read(
        "yml",
        yml(
          `<offer id="1"><name>a</name><price>5</price><oldprice>5</oldprice><categoryId>77</categoryId><country_of_origin>DE</country_of_origin></offer>
           <offer id="2"><name>b</name><price>1 299,50</price><oldprice>2000</oldprice><currencyId>RUR</currencyId><categoryId>3</categoryId></offer>`,
          '<category id="1" parentId="3">A</category><category id="2" parentId="1">B</category><category id="3" parentId="2">C</category>'
        )
      )
    )
    expect(first).toEqual({
      id: "1",
      title: "a",
      price: 5,
      extra: { oldprice: "5", categoryId: "77", country_of_origin: "DE" }
    })
    // Categories that form a circle end where they began.
    expect(second).toEqual({
      id: "2",
      title: "b",
      price: 1_299.5,
      old_price: 2_000,
      currency: "RUB",
      categories: ["A", "B", "C"]
    })
  })
  it("gives an attribute one type, from the whole sample", async () => {
    const offer = (id: number, size: string) =>
      `<offer id="${id}"><name>x</name><param name="Size">${size}</param><param name="W.t" unit="kg">1.5</param></offer>`
    const all = documents(
      await read("yml", yml(Array.from({ length: 1_200 }, (_, i) => offer(i, i === 1_100 ? "XL" : String(i))).join("")))
    )
    expect(all[5].attributes).toEqual({ Size: 5, "W_t, kg": "1.5" })
    expect([all[1_100].attributes, all[1_100].extra]).toEqual([{ "W_t, kg": "1.5" }, { Size: "XL" }])
    const mixed = documents(await read("yml", yml(offer(1, "42") + offer(2, "42-44"))))
    expect(mixed.map(({ attributes }) => attributes.Size)).toEqual(["42", "42-44"])
  })
  it("that is made to break its reader is refused with little memory", async () => {
    const entities = `<!DOCTYPE y [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>`
    const items = await read("yml", `${entities}${yml('<offer id="1"><name>&b;</name></offer>')}`)
    expect(JSON.stringify(items)).not.toContain("aaaaaaaaaa")
    await expect(read("yml", "<a>".repeat(100_000))).rejects.toThrow("no YML")
    await expect(read("yml", `<yml_catalog>${"<a>".repeat(100)}`)).rejects.toThrow("deeper than 32")
    await expect(read("yml", `<yml_catalog><shop>${"x".repeat(5_000_000)}`)).rejects.toThrow("longer than 4000000")
    await expect(read("yml", `<yml_catalog><shop><!--${"x".repeat(5_000_000)}`)).rejects.toThrow("longer than 4000000")
    await expect(
      read("yml", `<yml_catalog><shop ${Array.from({ length: 200 }, (_, i) => `a${i}="1"`).join(" ")}>`)
    ).rejects.toThrow("more than 100 attributes")
    await expect(read("yml", yml('<offer id="1"><name>x</name></offer>').slice(0, -20))).rejects.toThrow(
      "ends in the middle"
    )
    const proto = documents(
      await read(
        "yml",
        yml('<offer id="1"><name>x</name><param name="__proto__">1</param><__proto__>2</__proto__></offer>')
      )
    )
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(JSON.stringify(proto[0])).toContain('"__proto__":1')
  })
})

describe("CSV", () => {
  it("detects its delimiter, and skips broken rows", async () => {
    expect(["a,b,c\n1,2,3", "a;b\n1,5;2", "a\tb\n1\t2", 'id|"x,y,z,w"\n1|"a,b,c,d"'].map(delimiterOf)).toEqual([
      ",",
      ";",
      "\t",
      "|"
    ])
    const items = await read("csv", `id,title\n1,one\n2\n3,three,3\n,none\n5,"five ${"x".repeat(1_100_000)}"\n6,six\n`)
    expect(documents(items).map(({ id }) => id)).toContain("1")
    expect(faults(items).slice(0, 3)).toEqual([
      ["line 3", "The row has 1 fields where the first row names 2"],
      ["line 4", "The row has 3 fields where the first row names 2"],
      ["line 5", "The row has no `id`"]
    ])
    expect(faults(items).length).toBeGreaterThanOrEqual(4)
  })
  it("can use another column as its id", async () => {
    expect(documents(await read("csv", "sku,title\nA,x\n", 10, { idField: "sku" }))).toEqual([
      { sku: "A", title: "x", id: "A" }
    ])
    await expect(read("csv", "a,a\n1,2\n")).rejects.toThrow("twice")
    await expect(read("csv", "")).rejects.toThrow("no first row")
  })
})

describe("JSON Lines", () => {
  it("skips lines that are too long, not JSON, not UTF-8 or not an object", async () => {
    const feed = Buffer.concat([
      Buffer.from(`{"id":"1"}\n{"id":"${"x".repeat(1_000_001)}"}\n{"id":\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(`7\n${'{"a":'.repeat(100)}1${"}".repeat(100)}\n{"id":true}\n{"id":"2"}`)
    ])
    const items = await read("jsonl", feed, 1_000)
    expect(documents(items)).toEqual([{ id: "1" }, { id: "2" }])
    expect(faults(items)).toEqual([
      ["line 2", "The line is longer than 1000000 bytes"],
      ["line 3", "The line is not JSON"],
      ["line 4", "The line is not UTF-8"],
      ["line 5", "The line is no object"],
      ["line 6", "The line nests deeper than 64 levels"],
      ["line 7", "It has no id, which is a text or a number"]
    ])
  })
  it("deletes what an extractor marks as deleted, and keeps the extractor's state", async () => {
    const items = await read(
      "jsonl",
      '{"type":"RECORD","record":{"stream":"s","data":{"id":5,"_ab_cdc_deleted_at":"2026-01-01"},"emitted_at":1}}\n{"type":"STATE","value":{"at":9}}'
    )
    expect(items.map((item) => (item.kind === "record" ? item.change : item))).toEqual([
      { op: "delete", id: "5" },
      { kind: "state", state: { extractor_state: { at: 9 } } }
    ])
  })
})

describe("the set of seen ids", () => {
  it("takes at most 16 bytes for each, finds all of them, and no others", () => {
    const seen = new SeenIds()
    for (let i = 0; i < 200_000; i++) seen.add(`product-${i}`)
    for (let i = 0; i < 200_000; i += 7) seen.add(`product-${i}`)
    expect(seen.size).toBe(200_000)
    expect(seen.bytes / seen.size).toBeLessThanOrEqual(16)
    let found = 0,
      wrong = 0
    for (let i = 0; i < 200_000; i++) {
      if (seen.has(`product-${i}`)) found++
      if (seen.has(`other-${i}`)) wrong++
    }
    expect([found, wrong]).toEqual([200_000, 0])
  })
})
