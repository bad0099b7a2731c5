/**
 * Events by column: what is written can be read, one by one or all at once; records of earlier versions can be read as
 * well; damaged bytes are noticed at once.
 */
import { describe, expect, it } from "vitest"
import { Packr } from "msgpackr"
import { EVENT_TYPES, type BehaviouralEvent } from "../../log/event-schema.ts"
import { EventColumns, eventIdInto, kept } from "../../log/columns/decode.ts"
import { fingerprintInto } from "../../log/fingerprint.ts"
import { NUMBER_FIELDS, TEXT_FIELDS, TYPE_FIELD, TYPES } from "../../log/columns/layout.ts"
import { decodeRecord, encodeRecord, openRecord } from "../../log/record.ts"
import { RollupSums } from "../../streams/processors/rollups/emitted.ts"
import { RuleFacts } from "../../streams/processors/rules/emitted.ts"
import { makeCounting } from "../../streams/processors/counting.ts"
import { memoryStore } from "../../streams/state/state.ts"
import { BEHAVIOUR_EVENTS } from "../../log/topics.ts"
import { Draws } from "../support/simulation/random.ts"

type Fields = Record<string, unknown>
const READ: ReadonlyArray<string> = [TYPE_FIELD, ...TEXT_FIELDS, ...NUMBER_FIELDS, "document_ids", "items", "metadata"]
const AT = 1_790_000_000_000
const envelopeOf = (events: ReadonlyArray<unknown>) => ({
  schema_version: 1,
  organization_id: "org_ü",
  occurred_at: AT,
  payload: { events }
})
const columnsOf = (events: ReadonlyArray<unknown>): EventColumns => {
  const { payload } = openRecord(encodeRecord(envelopeOf(events)))
  if (!(payload instanceof EventColumns)) throw new Error("not by column")
  return payload
}
const expectBack = (events: ReadonlyArray<unknown>): void => {
  expect(decodeRecord(encodeRecord(envelopeOf(events)))).toStrictEqual(envelopeOf(events))
  const columns = columnsOf(events)
  expect(columns.length).toBe(events.length)
  expect(columns.hasErased).toBe(events.includes(null))
  const read: Array<Fields | null> = [],
    copies: Array<BehaviouralEvent | null> = []
  for (let index = 0; index < events.length; index++) {
    const event = columns.at(index) as unknown as Fields,
      fields: Fields = {}
    for (const field of READ) if (event[field] !== undefined) fields[field] = event[field]
    read.push(columns.isErased(index) ? null : fields)
    copies.push(columns.isErased(index) ? null : kept(columns.at(index)))
  }
  expect(copies).toStrictEqual(events)
  expect(read).toStrictEqual(
    events.map((event) =>
      event === null
        ? null
        : Object.fromEntries(Object.entries(event as Fields).filter(([field]) => READ.includes(field)))
    )
  )
}

const texts = [
  "",
  "a",
  "ses-1",
  "ses-1",
  "größer",
  "日本語 🎧",
  "x".repeat(300),
  "é".repeat(200),
  "product 12",
  "\u007f\u0080"
]
const values = [
  0,
  1,
  254,
  255,
  256,
  65_534,
  65_535,
  65_536,
  0xffff_fffd,
  0xffff_fffe,
  0x1_0000_0000,
  -1,
  -5_000_000_000,
  Number.MAX_SAFE_INTEGER,
  0.1,
  19.99,
  -0,
  1e300,
  AT,
  AT + 1
]
const others: ReadonlyArray<Fields> = [
  { items: [{ document_id: "d", quantity: 2, price: 3.5 }] },
  { document_ids: ["a", "b"] },
  { metadata: { deep: { er: [1, null, "ü"] } } },
  { later: "a field of a program to come" },
  { type: "later_type" },
  { q: 5 },
  { position: "first" },
  { metadata: { analytics_tag: "t" }, items: [] }
]
const draw = (draws: Draws, fields: ReadonlyArray<string>): Fields | null => {
  if (draws.chance(0.05)) return null
  const event: Fields = draws.chance(0.9) ? { type: draws.pick(TYPES) } : {}
  for (const field of fields) {
    if (draws.chance(0.2)) continue
    event[field] = (NUMBER_FIELDS as ReadonlyArray<string>).includes(field) ? draws.pick(values) : draws.pick(texts)
  }
  return draws.chance(0.1) ? { ...event, ...draws.pick(others) } : event
}

describe("events by column", () => {
  it("are read as they were written, whatever they contain", () => {
    const draws = new Draws(11)
    const all = [...TEXT_FIELDS, ...NUMBER_FIELDS]
    for (let round = 0; round < 60; round++) {
      const fields = all.filter(() => draws.chance(0.6))
      expectBack(Array.from({ length: draws.pick([0, 1, 2, 3, 40, 255, 256, 257, 700]) }, () => draw(draws, fields)))
    }
  })
  it("can have columns of every shape: one value for all, one for each, few, many, none", () => {
    expectBack(
      Array.from({ length: 300 }, (_, i) => ({
        type: "view",
        collection: "c",
        event_id: `e-${i}`,
        timestamp: AT + i,
        position: 7,
        results_found: 1_000 * i
      }))
    )
    expectBack(
      Array.from({ length: 66_000 }, (_, i) => ({ type: "view", collection: `c${i}`, timestamp: AT - 66_000 * i }))
    )
    expectBack([{ type: "view", collection: "c", timestamp: AT }, {}, null])
  })
  it("of one record do not appear in the next one", () => {
    expectBack([
      { type: "search", collection: "c", q: "q", timestamp: AT, price: 1.5 },
      { type: "view", collection: "d", timestamp: AT + 9 }
    ])
    expectBack([{ type: "click" }, { collection: "e" }])
  })
  it("are written correctly after a record that could not be written", () => {
    const poison = {
      get metadata() {
        throw new Error("no")
      }
    }
    expect(() => encodeRecord(envelopeOf([{ type: "view", collection: "left over", timestamp: 1 }, poison]))).toThrow(
      "no"
    )
    expectBack([{ type: "view" }, { type: "click", collection: "c", timestamp: 2 }])
  })
  it("can be larger than the scratch buffer that is kept", () => {
    expectBack(
      Array.from({ length: 40 }, (_, i) => ({ type: "custom", name: `${i}${"n".repeat(60_000)}`, timestamp: AT }))
    )
    expectBack([{ type: "view", collection: "c", timestamp: 1 }])
  })
  it("the current event changes with the position, a kept one does not", () => {
    const columns = columnsOf([
      { type: "view", document_id: "a" },
      { type: "click", document_id: "b" }
    ])
    const at = columns.at(0),
      first = kept(at)
    columns.at(1)
    expect([at.document_id, first.document_id, kept(first)]).toEqual(["b", "a", first])
  })
  it("take less space than named fields", () => {
    const events = Array.from({ length: 500 }, (_, i): BehaviouralEvent => ({
      type: i % 3 === 0 ? "search" : "view",
      collection: "products",
      event_id: `e-${i}`,
      session_id: `ses-${Math.floor(i / 6)}`,
      timestamp: AT + i,
      document_id: `p${i % 40}`,
      device: "mobile",
      country: "DE"
    }))
    expect(encodeRecord(envelopeOf(events)).length).toBeLessThan(
      new Packr({ useRecords: true }).pack(envelopeOf(events)).length / 2
    )
  })
  it("are written in the older format if they are no list, or have more members than events", () => {
    for (const payload of [
      { events: [1, { type: "view" }] },
      { events: [["a"]] },
      { events: [{ type: "view" }], more: 1 },
      { events: "none" },
      [1],
      null,
      "text"
    ]) {
      const envelope = { schema_version: 3, organization_id: "", occurred_at: 5, payload }
      expect(decodeRecord(encodeRecord(envelope))).toStrictEqual(envelope)
      expect(openRecord(encodeRecord(envelope)).payload).not.toBeInstanceOf(EventColumns)
    }
  })
  it("have types whose numbers never change, because stored records contain them", () => {
    expect(TYPES).toEqual(["search", "view", "click", "add_to_cart", "purchase", "conversion", "custom"])
    expect(new Set<string>(TYPES)).toEqual(new Set(EVENT_TYPES))
    expect([
      TEXT_FIELDS.indexOf("name"),
      TEXT_FIELDS.length,
      NUMBER_FIELDS.indexOf("revenue"),
      NUMBER_FIELDS.length
    ]).toEqual([13, 14, 5, 6])
  })
})

describe("stored records", () => {
  /** As earlier versions wrote them. */
  const BEFORE =
    "d4724094ae736368656d615f76657273696f6eaf6f7267616e697a6174696f6e5f6964ab6f636375727265645f6174a77061796c6f616401a56f72675f31cb427a0c450c810000d4724191a66576656e747392d4724294a474797065aa636f6c6c656374696f6ea974696d657374616d70ab646f63756d656e745f6964a476696577a870726f6475637473cb427a0c450c800000a27031c0"
  /** Format 1, which must stay readable for good because it is stored. */
  const COLUMNS =
    "c10103000000010000000000c006450c7a42050000006f72675f31080001030000000105000101120000000101000000010870726f647563747301010002010f00000001020000000102026531653201020006010b00000001010000000101730101000801130000000001000000010966c3bc72206469636801000040020e0000000000c006450c7a4201009101000042010b0000000000000000000840010000c5010f000000010000000000000000001d400001003c000000929201d4724091a56974656d7391d4724193ab646f63756d656e745f6964a87175616e74697479a57072696365a17002cb400c0000000000009202c0"
  it("of earlier versions can be read", () => {
    expect(decodeRecord(Buffer.from(BEFORE, "hex"))).toStrictEqual({
      schema_version: 1,
      organization_id: "org_1",
      occurred_at: 1_790_000_023_568,
      payload: {
        events: [{ type: "view", collection: "products", timestamp: 1_790_000_023_552, document_id: "p1" }, null]
      }
    })
  })
  it("of earlier versions are counted like those by column, except for what was erased", () => {
    const events = Array.from({ length: 60 }, (_, i) =>
      i === 7
        ? null
        : {
            type: TYPES[i % 5],
            collection: "c",
            session_id: `s${i % 4}`,
            event_id: `e${i % 50}`,
            timestamp: AT + 1_000 * i,
            document_id: `d${i % 3}`,
            q: `q${i % 2}`,
            price: 1.5,
            quantity: 2
          }
    )
    const attribution = makeCounting({ fingerprintKey: [1, 2, 3, 4] })
    const countedOf = (value: Uint8Array, looksAhead = 0) => {
      const state = attribution.open(memoryStore()),
        emitted = attribution.newEmitted(state)
      const entries = attribution.entriesOf(BEHAVIOUR_EVENTS.name, openRecord(value))
      const outcomes: Array<string> = [],
        bodies: Array<unknown> = [],
        sums: Array<unknown> = []
      for (let index = 0; index < entries.length; index++) {
        // An entry that is not looked at ahead is stepped as well.
        if (looksAhead > 0 && index % looksAhead === 0)
          attribution.ahead!(state, entries, index, Math.min(index + looksAhead - 2, entries.length))
        if (entries.keyAt(index) === undefined) continue
        bodies.push(entries.keptAt(index))
        outcomes.push(
          attribution.step(
            state,
            entries.bodyAt(index),
            { topic: BEHAVIOUR_EVENTS.name, offset: 3, index, appendedAt: AT },
            emitted
          ).kind
        )
      }
      const rollups = emitted.emitted.find((one) => one instanceof RollupSums)!,
        rules = emitted.emitted.find((one) => one instanceof RuleFacts)!
      for (const table of ["queries", "products", "events"] as const)
        rollups[table].eachInstant(
          (key, at, values, from) =>
            void sums.push([table, key, at, [...values.subarray(from, from + rollups[table].slots)]])
        )
      rules.eachSearch((key, { at, filter, q, tag }, sign) => void sums.push(["asked", key, at, filter, q, tag, sign]))
      rules.eachProduct((key, kind, at) => void sums.push(["touched", key, kind, at]))
      return { outcomes, bodies, sums, key: entries.key }
    }
    const before = countedOf(new Packr({ useRecords: true, encodeUndefinedAsNil: false }).pack(envelopeOf(events)))
    for (const looksAhead of [0, 3, 16, 61])
      expect(countedOf(encodeRecord(envelopeOf(events)), looksAhead)).toEqual(before)
    expect(before.outcomes.filter((kind) => kind === "drop").length).toBe(10 - 1)
    expect(before.bodies.length).toBe(59)
  })
  it("by column are written and read as they were from the beginning", () => {
    const envelope = {
      schema_version: 1,
      organization_id: "org_1",
      occurred_at: AT,
      payload: {
        events: [
          {
            type: "search",
            collection: "products",
            event_id: "e1",
            session_id: "s",
            q: "für dich",
            timestamp: AT,
            results_found: 3
          },
          {
            type: "purchase",
            collection: "products",
            event_id: "e2",
            session_id: "s",
            timestamp: AT + 400,
            items: [{ document_id: "p", quantity: 2, price: 3.5 }],
            revenue: 7.25
          },
          null
        ]
      }
    }
    expect(Buffer.from(encodeRecord(envelope)).toString("hex")).toBe(COLUMNS)
    expect(decodeRecord(Buffer.from(COLUMNS, "hex"))).toStrictEqual(envelope)
  })
  it("that are truncated or changed are refused when opened, or never read past their end", () => {
    const whole = encodeRecord(
      envelopeOf(
        Array.from({ length: 30 }, (_, i) => ({
          type: "view",
          collection: "c",
          event_id: `e${i}`,
          document_id: `d${i % 7}`,
          timestamp: AT + i * i,
          price: i / 3,
          metadata: { i }
        }))
      )
    )
    for (let length = 1; length < whole.length; length++) expect(() => openRecord(whole.subarray(0, length))).toThrow()
    expect(() => openRecord(Buffer.concat([whole, Buffer.of(0)]))).toThrow("more than it says")
    expect(() => openRecord(Buffer.of(0xc1, 2, 0, 0, 0, 0))).toThrow("format is not known")
    const draws = new Draws(3)
    for (let round = 0; round < 3_000; round++) {
      const changed = Buffer.from(whole)
      changed[draws.whole(2, whole.length - 1)] = draws.whole(0, 255)
      try {
        const { payload } = openRecord(changed)
        if (payload instanceof EventColumns && payload.length < 1_000)
          for (let i = 0; i < payload.length; i++) payload.copy(i)
      } catch (error) {
        expect(error).toBeInstanceOf(Error)
      }
    }
  })
})

describe("fingerprints of event ids", () => {
  const key = [1, 2, 3, 4] as const
  const printOf = (into: (out: Uint32Array) => unknown): ReadonlyArray<number> => {
    const out = new Uint32Array(4)
    into(out)
    return [...out]
  }
  it("are those of the texts, decoded or not, of any length and alphabet", () => {
    const draws = new Draws(17)
    for (const alphabet of ["abc-0129", "aé日🎧"]) {
      const ids = Array.from({ length: 200 }, (_, i) =>
        Array.from({ length: i % 140 }, () => draws.pick([...alphabet])).join("")
      )
      const columns = columnsOf(ids.map((event_id) => ({ type: "view", event_id })))
      ids.forEach((id, index) =>
        expect(printOf((out) => eventIdInto(key, columns.at(index), out))).toEqual(
          printOf((out) => fingerprintInto(key, id, out, 0))
        )
      )
    }
  })
  it("are the same as when ids were first kept", () => {
    expect(printOf((out) => fingerprintInto(key, "e-100000000000-57", out, 0))).toEqual([
      2067143120, 3530722541, 4033510397, 493162403
    ])
    expect(printOf((out) => fingerprintInto(key, "größer 🎧", out, 0))).toEqual([
      732031639, 3678801153, 1230921841, 72217755
    ])
  })
  it("of an event without an id do not exist", () => {
    const columns = columnsOf([{ type: "view", event_id: "a" }, { type: "view" }])
    expect([
      eventIdInto(key, columns.at(0), new Uint32Array(4)),
      eventIdInto(key, columns.at(1), new Uint32Array(4)),
      eventIdInto(key, {}, new Uint32Array(4))
    ]).toEqual([true, false, false])
  })
})
