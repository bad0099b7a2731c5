import { describe, expect, it } from "vitest"
import { CollectionModel, KINDS, LIMITS, type ModelEvent, POPULAR, TRENDING } from "../src/recommend/mod.ts"

const NOON = Date.UTC(2026, 10, 2, 12)
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const small = { ...LIMITS, events: 1_024, sessions: 256, baskets: 256, basketEvents: 1_024, items: 64 }

const happened = (
  visitor: string,
  documents: ReadonlyArray<string>,
  at: number,
  more: Partial<ModelEvent> = {}
): ModelEvent => ({ kind: 0, documents, visitor, person: "", at, ...more })
/** Adds visits whose documents are one minute apart. */
const visited = (model: CollectionModel, visits: ReadonlyArray<ReadonlyArray<string>>, at = NOON) =>
  visits.forEach((items, v) =>
    items.forEach((id, i) => model.add(happened(`visitor ${v} ${at}`, [id], at + i * MINUTE)))
  )
const ids = (found: ReadonlyArray<{ readonly id: string }>) => found.map(({ id }) => id)

describe("the next document", () => {
  it("is what followed, before what preceded, and never what was seen", () => {
    const model = new CollectionModel()
    visited(model, [
      ["lamp", "shade"],
      ["lamp", "bulb"],
      ["rug", "lamp", "bulb"]
    ])
    expect(ids(model.next(["lamp"], "", NOON, 10))).toEqual(["bulb", "shade", "rug"])
    expect(ids(model.next(["lamp", "bulb"], "", NOON, 10))).not.toContain("lamp")
    expect(model.next(["unknown"], "", NOON, 10)).toEqual([])
  })
  it("is not learned from the visitor's own visit", () => {
    const model = new CollectionModel()
    for (const [i, id] of ["lamp", "bulb"].entries()) model.add(happened("me", [id], NOON + i))
    expect(model.next(["lamp"], "me", NOON, 10)).toEqual([])
    expect(ids(model.next(["lamp"], "somebody", NOON, 10))).toEqual(["bulb"])
  })
  it("reflects a click in the very next answer", () => {
    const model = new CollectionModel()
    visited(model, [["lamp", "bulb"]])
    model.add(happened("me", ["lamp"], NOON))
    expect(model.visit("me", NOON + 1)).toEqual(["lamp"])
    expect(model.visit("me", NOON + 31 * MINUTE)).toEqual([])
    expect(model.visit("nobody", NOON)).toEqual([])
  })
  it("weighs a purchase more than a view", () => {
    const model = new CollectionModel()
    for (let v = 0; v < 3; v++) visited(model, [["lamp", "rug"]], NOON + v)
    model.add(happened("buyer", ["lamp"], NOON))
    model.add(happened("buyer", ["bulb"], NOON + 1, { kind: KINDS.indexOf("purchase") }))
    expect(ids(model.next(["lamp"], "", NOON, 2))).toEqual(["bulb", "rug"])
  })
})

describe("concurrent visits", () => {
  const [first, second] = [
    ["a", "b", "a"],
    ["a", "c"]
  ]
  const purchase = KINDS.indexOf("purchase")
  const learned = (events: ReadonlyArray<readonly [visitor: string, id: string]>) => {
    const model = new CollectionModel(small)
    for (const [visitor, id] of events) model.add({ kind: purchase, documents: [id], visitor, person: "", at: NOON })
    return model
  }
  const whole = learned([...first!.map((id) => ["v1", id] as const), ...second!.map((id) => ["v2", id] as const)])
  const mixed = learned([
    ["v1", "a"],
    ["v1", "b"],
    ["v2", "a"],
    ["v1", "a"],
    ["v2", "c"]
  ])
  it("teach the same as one after the other: a visitor who returns to a document saw it once", () => {
    const scores = (found: ReadonlyArray<{ readonly id: string; readonly score: number }>) =>
      found.map(({ id, score }) => `${id} ${score.toFixed(9)}`).sort()
    for (const now of [NOON, NOON + DAY]) {
      expect(scores(mixed.next(["a"], "", now, 9))).toEqual(scores(whole.next(["a"], "", now, 9)))
      expect(scores(mixed.taste(["a"], "", now, 9))).toEqual(scores(whole.taste(["a"], "", now, 9)))
    }
    for (const model of [whole, mixed])
      expect(model.together(["a"], 9)).toMatchObject([
        { id: "b", support: 1, lift: 1 },
        { id: "c", support: 1, lift: 1 }
      ])
  })
})

describe("visits", () => {
  it("end after half an hour without an event, and after four hours with events", () => {
    const model = new CollectionModel()
    model.add(happened("slow", ["a"], NOON))
    model.add(happened("slow", ["b"], NOON + 31 * MINUTE))
    expect(model.next(["a"], "", NOON, 5)).toEqual([])
    for (let i = 0; i <= 13; i++) model.add(happened("long", [`x${i}`], NOON + i * 20 * MINUTE))
    expect(model.visit("long", NOON + 13 * 20 * MINUTE)).toEqual(["x13"])
  })
  it("of more than forty events are a robot's and teach nothing, not even their beginning", () => {
    const model = new CollectionModel()
    for (let i = 0; i < 40; i++) model.add(happened("bot", [`i${i}`], NOON + i))
    expect(model.next(["i0"], "", NOON, 5)).not.toEqual([])
    model.add(happened("bot", ["i40"], NOON + 40))
    expect(model.next(["i0"], "", NOON, 5)).toEqual([])
    expect(model.popular(NOON, 10)).toEqual([])
    for (let i = 0; i < 9; i++) model.add(happened("bot", [`i${i}`], NOON + 41 + i))
    expect(model.popular(NOON + 5_000, 10)).toEqual([])
  })
  it("of one person are one history, across sessions", () => {
    const model = new CollectionModel()
    model.add(happened("monday", ["a"], NOON, { person: "ann" }))
    model.add(happened("tuesday", ["b"], NOON + DAY, { person: "ann" }))
    model.add(happened("monday", ["z"], NOON, { person: "bob" }))
    expect(model.history("ann")).toEqual(["a", "z", "b"])
    expect(model.history("nobody")).toEqual([])
  })
})

describe("bought together", () => {
  it("puts significant pairs before accidental ones, with their frequency", () => {
    const model = new CollectionModel()
    for (let b = 0; b < 40; b++) {
      const documents =
        b < 6 ? ["pasta", "sauce"] : b < 8 ? ["pasta", `rare${b}`] : b < 30 ? ["milk", "bread"] : ["eggs"]
      model.add(happened(`basket ${b}`, documents, NOON + b, { kind: 3 }))
    }
    const [first, ...others] = model.together(["pasta"], 5)
    expect(first).toMatchObject({ id: "sauce", support: 6 })
    expect(first!.lift).toBeCloseTo(5, 1)
    expect(ids(others)).toEqual(["rare6", "rare7"])
    expect(model.together(["milk"], 5)).toMatchObject([{ id: "bread", support: 22 }])
  })
  it("does not put what is in every basket first", () => {
    const model = new CollectionModel()
    for (let b = 0; b < 40; b++) {
      const documents = [
        ...(b < 10 ? ["pasta"] : ["eggs"]),
        ...(b < 3 ? ["sauce"] : []),
        ...(b % 10 > 0 ? ["milk"] : [])
      ]
      model.add(happened(`basket ${b}`, documents, NOON + b, { kind: 3 }))
    }
    const found = model.together(["pasta"], 5)
    expect(ids(found)).toEqual(["sauce", "milk"])
    // By its score alone, milk would be first.
    expect(found[1]!.score).toBeGreaterThan(found[0]!.score)
    expect(found[1]!.lift).toBe(1)
  })
  it("joins the purchases of one visit, and only within half an hour", () => {
    const model = new CollectionModel()
    for (const [id, at] of [
      ["a", 0],
      ["b", 10 * MINUTE],
      ["c", 50 * MINUTE]
    ] as const)
      model.add(happened("one", [id], NOON + at, { kind: 3 }))
    expect(ids(model.together(["a"], 5))).toEqual(["b"])
  })
})

describe("popular documents", () => {
  it("lose half of their weight with age, by kind if requested", () => {
    const model = new CollectionModel()
    for (let i = 0; i < 3; i++) model.add(happened(`old ${i}`, ["old"], NOON - 14 * DAY))
    model.add(happened("new", ["new"], NOON))
    model.add(happened("buyer", ["sold"], NOON - DAY, { kind: 3 }))
    expect(ids(model.popular(NOON, 5))).toEqual(["sold", "new", "old"])
    expect(ids(model.popular(NOON, 5, { ...POPULAR, kind: 3 }))).toEqual(["sold"])
    expect(ids(model.popular(NOON + 1, 5, { ...POPULAR, halfLifeDays: 1_000 }))).toEqual(["sold", "old", "new"])
  })
  it("are trending from three events on, if there are more than earlier days suggest", () => {
    const model = new CollectionModel()
    for (let d = 1; d <= 7; d++)
      for (let i = 0; i < 8; i++) model.add(happened(`always ${d} ${i}`, ["always"], NOON - d * DAY))
    for (let i = 0; i < 4; i++) {
      model.add(happened(`a ${i}`, ["always"], NOON - MINUTE))
      model.add(happened(`h ${i}`, ["hot"], NOON - MINUTE))
    }
    model.add(happened("once", ["once"], NOON - MINUTE))
    const found = model.trending(NOON, 5, TRENDING)
    expect(ids(found)).toEqual(["hot", "always"])
    expect(found[0]).toMatchObject({ score: 4, support: 4 })
  })
})

describe("bounds", () => {
  /** A fixed sequence of visits with more items, sessions and events than there is room for. */
  const busy = (from: number, to: number, model: CollectionModel) => {
    for (let v = from; v < to; v++)
      for (let i = 0; i < 3 + (v % 4); i++)
        model.add(
          happened(`v${v}`, [`i${(v * 7 + i * 3) % 60}`], NOON + v * MINUTE + i, { kind: v % 4, person: `p${v % 90}` })
        )
  }
  it("hold while ring buffers wrap around, and answers remain those of the newest sessions", () => {
    const turned = new CollectionModel(small),
      fresh = new CollectionModel(small)
    busy(0, 2_000, turned)
    busy(1_744, 2_000, fresh)
    const now = NOON + 2_000 * MINUTE
    expect(turned.bytes).toBeLessThan(100_000)
    for (let i = 0; i < 60; i += 7)
      expect(
        turned
          .next([`i${i}`], "", now, 10)
          .map(({ id }) => id)
          .sort()
      ).toEqual(
        fresh
          .next([`i${i}`], "", now, 10)
          .map(({ id }) => id)
          .sort()
      )
  })
  it("numbers of forgotten items are reused", () => {
    const model = new CollectionModel({ ...small, items: 16 })
    for (let i = 0; i < 3_000; i++) model.add(happened(`v${i}`, [`item ${i % 1_500}`], NOON + i * MINUTE))
    expect(model.items).toBeLessThanOrEqual(16)
  })
  it("a snapshot gives the same answers as its state, and continues in the same way", () => {
    const live = new CollectionModel(small)
    busy(0, 700, live)
    const restored = CollectionModel.of(structuredClone(live.image()), small)
    busy(700, 900, live)
    busy(700, 900, restored)
    const now = NOON + 900 * MINUTE
    expect(restored.next(["i3", "i10"], "", now, 20)).toEqual(live.next(["i3", "i10"], "", now, 20))
    expect(restored.together(["i3"], 20)).toEqual(live.together(["i3"], 20))
    expect(restored.popular(now, 20)).toEqual(live.popular(now, 20))
    expect(restored.history("p7")).toEqual(live.history("p7"))
    expect(live.history("p7").length).toBeGreaterThan(3)
  })
})
