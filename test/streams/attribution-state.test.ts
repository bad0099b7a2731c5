/** The attribution state is stored and restored, including what earlier versions of the program stored. */
import { describe, expect, it } from "vitest"
import { Packr } from "msgpackr"
import { AttributionState } from "../../streams/processors/attribution/state.ts"
import type { SearchFacts } from "../../streams/facts/facts.ts"
import { newSearch } from "../../streams/processors/attribution/visit.ts"
import { memoryStore } from "../../streams/state/state.ts"

const AT = 1_790_000_000_000
const options = { fingerprintKey: [1, 2, 3, 4] as const }
const packr = new Packr({ useRecords: true })
const click = {
  offset: 812,
  index: 345,
  kind: "click",
  at: AT,
  money: { units: 0, micros: 0 },
  documents: [1, 0xffff_ffff]
} as const
const cart = {
  offset: 7,
  index: 0,
  kind: "add_to_cart",
  at: AT + 1,
  money: { units: 12, micros: 500_000 },
  documents: []
} as const

describe("stored visits and query ids", () => {
  it("are restored unchanged", async () => {
    const store = memoryStore(),
      state = new AttributionState(store, options)
    state.visits.put("o|1|v|c", { organizationId: "o", searches: [], loose: [click, cart] }, AT)
    state.queries.put(
      "o|q",
      { visit: "o|1|v|c", settled: undefined, isUncounted: false, pending: [{ interaction: cart, visit: "o|1|v|c" }] },
      AT
    )
    await store.commit(state.snapshot(AT).writes, {})
    const again = new AttributionState(store, options)
    expect(again.visits.get("o|1|v|c", AT)).toEqual({ organizationId: "o", searches: [], loose: [click, cart] })
    expect(again.queries.get("o|q", AT)?.pending).toEqual([{ interaction: cart, visit: "o|1|v|c" }])
  })
  it("are restored with every part of a search: who and where, changing or not, filters, money, any script", async () => {
    const store = memoryStore(),
      state = new AttributionState(store, options)
    const said: SearchFacts = {
      at: AT + 0.5,
      q: "läuferschuhe 鞋 🎿",
      collection: "c",
      hasNoResults: true,
      visitor: "v",
      device: "mobile",
      country: "DE",
      surface: "",
      who: [0, 2 ** 53 - 1, 2 ** 31, 0],
      uses: undefined,
      filter: "",
      tag: "",
      isExplicit: true,
      exposure: undefined,
      query: undefined
    }
    const elsewhere: SearchFacts = {
      ...said,
      q: "",
      hasNoResults: false,
      device: "\u0000",
      who: [1, 2, 3, 2 ** 53 - 2],
      uses: [
        ["filter", "brand", "!=é"],
        ["facet", "size", ""]
      ],
      filter: "brand:!=é",
      tag: "t"
    }
    const exposure = { id: "exp_1", run: 3, variant: 7, unit: "user" } as const
    const teams = { a: [3, 0xffff_ffff], b: [] }
    const searches = [
      newSearch("@8589934592.499", undefined, said),
      newSearch("a", undefined, { ...said, q: "x".repeat(300_000) }),
      newSearch("b", { ...elsewhere, isExplicit: false, exposure }, { ...elsewhere }),
      {
        ...newSearch("c", { ...said, isExplicit: false, exposure: { ...exposure, teams } }, undefined),
        named: [click, { ...cart, offset: 2 ** 40, money: { units: -3, micros: 999_999 } }],
        hadClick: true,
        hadPurchase: true
      }
    ]
    state.visits.put("o|1|v|c", { organizationId: "o", searches, loose: [cart] }, AT)
    state.queries.put(
      "o|q",
      {
        visit: undefined,
        settled: searches[3],
        isUncounted: true,
        pending: [{ interaction: click, visit: undefined }]
      },
      AT
    )
    await store.commit(state.snapshot(AT).writes, {})
    const again = new AttributionState(store, options)
    expect(again.visits.get("o|1|v|c", AT)).toEqual({ organizationId: "o", searches, loose: [cart] })
    expect(again.queries.get("o|q", AT)).toEqual({
      visit: undefined,
      settled: searches[3],
      isUncounted: true,
      pending: [{ interaction: click, visit: undefined }]
    })
  })
  it("of earlier versions, by position and by name, can be read", async () => {
    const store = memoryStore()
    const named = { id: "812.345", kind: "click", at: AT, money: { units: 0, micros: 0 } }
    await store.commit(
      [
        ["vo|1|v|c", packr.pack([AT, ["o", [], [named, ["7.0", 1, AT + 1, 12, 500_000]]]]).slice()],
        [
          "vo|1|w|c",
          packr
            .pack([
              AT,
              [
                "o",
                [
                  [
                    "@7.0",
                    undefined,
                    [AT, "hat", "c", true, "w", "mobile", "DE", "", 1, 2, 3, undefined, "f", "t"],
                    [["7.0", 1, AT + 1, 12, 500_000]],
                    true,
                    false
                  ]
                ],
                []
              ]
            ])
            .slice()
        ],
        [
          "qo|q",
          packr
            .pack([
              AT,
              [
                null,
                undefined,
                false,
                [{ interaction: named, visit: "o|1|v|c" }, [["7.0", 1, AT + 1, 12, 500_000], undefined]]
              ]
            ])
            .slice()
        ]
      ],
      {}
    )
    const state = new AttributionState(store, options)
    expect(state.visits.get("o|1|v|c", AT)?.loose).toEqual([{ ...click, documents: [] }, cart])
    const hat: SearchFacts = {
      at: AT,
      q: "hat",
      collection: "c",
      hasNoResults: true,
      visitor: "w",
      device: "mobile",
      country: "DE",
      surface: "",
      who: [1, 2, 3, 0],
      uses: undefined,
      filter: "f",
      tag: "t",
      isExplicit: true,
      exposure: undefined,
      query: undefined
    }
    expect(state.visits.get("o|1|w|c", AT)?.searches).toEqual([
      { ...newSearch("@7.0", undefined, hat), named: [cart], hadClick: true }
    ])
    expect(state.queries.get("o|q", AT)?.pending).toEqual([
      { interaction: { ...click, documents: [] }, visit: "o|1|v|c" },
      { interaction: cart, visit: undefined }
    ])
  })
  it("that have expired are removed, in whichever number type their time is stored", async () => {
    const store = memoryStore(),
      DAY = 86_400_000
    await store.commit(
      [
        ["vdouble", packr.pack([AT, ["o", [], []]]).slice()],
        ["vsmall", packr.pack([5, ["o", [], []]]).slice()]
      ],
      {}
    )
    const state = new AttributionState(store, options)
    await store.commit(state.snapshot(AT + 30 * DAY).writes, {})
    expect([store.get("vsmall"), store.get("vdouble") !== undefined]).toEqual([undefined, true])
    await store.commit(state.snapshot(AT + 32 * DAY).writes, {})
    expect(store.get("vdouble")).toBeUndefined()
  })
})
