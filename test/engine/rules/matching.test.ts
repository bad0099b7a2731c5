/**
 * Matching, typos and prefixes, as the reference engine's own tests assert them. The numbers in titles only count the
 * rules.
 */
import { expect, it } from "vitest"
import { createLab } from "../../support/engine-lab.ts"

type Parameters_ = Record<string, string | number | boolean>
/** Creates a collection of titles in the given order; searches return titles in the order of hits. */
const titles = async (values: ReadonlyArray<string>, more: object = {}, field: object = {}) => {
  const lab = createLab()
  await lab.collection(
    "c",
    [{ name: "title", type: "string", ...field }],
    values.map((title, i) => ({ id: String(i), title })),
    more
  )
  return async (q: string, parameters: Parameters_ = {}): Promise<Array<string>> => {
    const { body, status } = await lab.search("c", { q, query_by: "title", ...parameters })
    if (status !== 200) throw new Error(body.message)
    return body.hits.map((hit: { document: { title: string } }) => hit.document.title)
  }
}
const documents = async (fields: ReadonlyArray<object>, values: ReadonlyArray<object>, more: object = {}) => {
  const lab = createLab()
  await lab.collection(
    "c",
    fields,
    values.map((value, i) => ({ id: String(i), ...value })),
    more
  )
  return lab
}

it("1: typo hits are withheld while better ones exist", async () => {
  const search = await titles(["copper kettle", "coper mug"])
  expect(await search("copper")).toEqual(["copper kettle"])
  expect(await search("copper", { typo_tokens_threshold: 10 })).toEqual(["copper kettle", "coper mug"])
})
it("2: costs rise one at a time", async () => {
  const lab = await documents(
    [
      { name: "a", type: "string" },
      { name: "b", type: "string" },
      { name: "n", type: "int32" }
    ],
    [
      { a: "fernwall", b: "none", n: 1 },
      { a: "none", b: "fernwoll x", n: 9 },
      { a: "other", b: "farnwoll", n: 5 }
    ],
    { default_sorting_field: "n" }
  )
  const { body } = await lab.search("c", { q: "fernwell", query_by: "a,b", prefix: false })
  expect(body.hits.map((hit: any) => hit.document.id).includes("2")).toBe(false)
  expect(body.hits[0].text_match_info.typo_prefix_score).toBe(2)
  const wide = await lab.search("c", { q: "fernwell", query_by: "b", prefix: false, typo_tokens_threshold: 10 })
  expect(wide.body.hits.find((hit: any) => hit.document.id === "2").text_match_info.typo_prefix_score).toBe(4)
})
it("3: typos are tried before tokens are dropped", async () => {
  const search = await titles(["Nina Walden", "Nina Larsen"])
  expect(await search("nina larzen")).toEqual(["Nina Larsen"])
  expect(await search("nina larzen", { drop_tokens_threshold: 10 })).toEqual(["Nina Larsen", "Nina Walden"])
})
it("4: tokens may be spread over fields, joined forms too", async () => {
  const lab = await documents(
    [
      { name: "name", type: "string" },
      { name: "brand", type: "string" }
    ],
    [{ name: "Cream C1", brand: "Berg Apotek" }]
  )
  expect(await lab.ids("c", { q: "berg cream", query_by: "name,brand" })).toEqual(["0"])
  expect(await lab.ids("c", { q: "bergapotek c1", query_by: "name,brand" })).toEqual(["0"])
})
it("5: only the last word is a prefix (corrected by 23.1: without dropping)", async () => {
  const search = await titles(["mathematics club"])
  expect(await search("club mat")).toEqual(["mathematics club"])
  expect(await search("mat club", { drop_tokens_threshold: 0 })).toEqual([])
  expect(await search("mat club")).toEqual(["mathematics club"])
})
it("6: a whole-value match beats a longer prefix match", async () => {
  const lab = await documents(
    [
      { name: "name", type: "string" },
      { name: "n", type: "int32" }
    ],
    [
      { name: "GER", n: 1 },
      { name: "Gerhardt High School", n: 100 }
    ],
    { default_sorting_field: "n" }
  )
  expect(await lab.ids("c", { q: "ger", query_by: "name" })).toEqual(["0", "1"])
})
it("7: prefix per field", async () => {
  const lab = await documents(
    [
      { name: "name", type: "string" },
      { name: "brand", type: "string" }
    ],
    [
      { name: "Oak Chairs", brand: "x" },
      { name: "Oak", brand: "Chairs" }
    ]
  )
  expect(
    await lab.ids("c", {
      q: "oak chair",
      query_by: "name,brand",
      prefix: "false,true",
      num_typos: 0,
      drop_tokens_threshold: 0
    })
  ).toEqual(["1"])
})
it("8: typos work without prefix", async () => {
  expect(await (await titles(["SX25026HP"]))("SX25026H", { prefix: false })).toEqual(["SX25026HP"])
})
it("9: short words take no typos, and numbers can be kept exact", async () => {
  expect(await (await titles(["cat"]))("cot", { prefix: false })).toEqual([])
  const search = await titles(["LM-12345678", "LM-22345678"], { token_separators: ["-"] })
  expect(await search("LM-12345678", { enable_typos_for_numerical_tokens: false, typo_tokens_threshold: 10 })).toEqual([
    "LM-12345678"
  ])
  expect((await search("LM-12345678", { typo_tokens_threshold: 10 })).length).toBe(2)
})
it("10: dropping from the right leaves whole words", async () => {
  const search = await titles(["Dog Panmaker", "Pan and Lid"])
  expect(await search("pan cat")).toEqual(["Pan and Lid"])
  expect((await search("cat pan")).sort()).toEqual(["Dog Panmaker", "Pan and Lid"])
})
it("11: drop direction", async () => {
  const search = await titles(["ash birch", "birch cedar"])
  expect(await search("ash birch cedar", { drop_tokens_mode: "right_to_left" })).toEqual(["ash birch"])
  expect(await search("ash birch cedar", { drop_tokens_mode: "left_to_right" })).toEqual(["birch cedar"])
  expect((await search("ash cedar", { drop_tokens_mode: "both_sides:3" })).length).toBe(2)
  expect(await search("ash cedar", { drop_tokens_mode: "both_sides:1" })).toEqual(["ash birch"])
  await expect(search("ash", { drop_tokens_mode: "both_sides:x" })).rejects.toThrow(
    "Invalid format for drop tokens mode."
  )
})
it("12: dropping goes on until the threshold is met, and each hit shows how much was dropped", async () => {
  const lab = await documents([{ name: "title", type: "string" }], [{ title: "ash birch" }, { title: "ash" }])
  const { body } = await lab.search("c", { q: "ash birch cedar", query_by: "title", drop_tokens_threshold: 10 })
  expect(body.hits.map((hit: any) => [hit.document.id, hit.text_match_info.num_tokens_dropped])).toEqual([
    ["0", 1],
    ["1", 2]
  ])
})
it("13: exhaustive search drops tokens even when full matches exist", async () => {
  const search = await titles(["ash birch cedar", "ash"])
  expect(await search("ash birch")).toEqual(["ash birch cedar"])
  expect(await search("ash birch", { exhaustive_search: true })).toEqual(["ash birch cedar", "ash"])
})
it("14: dropped words still count for rank", async () => {
  expect(await (await titles(["Ebba milk soap with oats", "Ebba milk bar"]))("ebba milk organic soap oats")).toEqual([
    "Ebba milk soap with oats",
    "Ebba milk bar"
  ])
})
it("15: split and join", async () => {
  expect(await (await titles(["nonslip mat"]))("non slip")).toEqual(["nonslip mat"])
  const kettle = await titles(["copper kettle", "copper kettle lid", "lid"])
  expect((await kettle("copperkettle")).sort()).toEqual(["copper kettle", "copper kettle lid"])
  expect(await kettle("copperkettle lid", { drop_tokens_threshold: 0 })).toEqual(["copper kettle lid"])
  expect(await (await titles(["kettle with a lid"]))("kettlelid", { num_typos: 0 })).toEqual([])
  expect(await (await titles(["kettle"]))("k e t t l e")).toEqual(["kettle"])
})
it("16: a joined word is never a prefix", async () => {
  expect(await (await titles(["cookware", "cookwarehouse"]))("cook ware")).toEqual(["cookware"])
})
it("16: a last word that was neither joined nor split stays a prefix", async () => {
  const search = await titles(["cookware shelves", "cookwarehouse shelves"])
  expect(await search("cook ware shel")).toEqual(["cookware shelves"])
  // The last word is the second half of a split one, so it is not a prefix.
  expect(await (await titles(["mat cook war", "mat cook ware"]))("mat cookwar")).toEqual(["mat cook war"])
})
it("17: split_join_tokens=always adds the other spelling behind the literal one", async () => {
  expect(await (await titles(["non slip tray", "nonslip mat"]))("non slip", { split_join_tokens: "always" })).toEqual([
    "non slip tray",
    "nonslip mat"
  ])
})
it("18: a lone hyphen is no exclusion", async () => {
  const search = await titles(["Saturday live", "Saturday"])
  expect(await search("Saturday - live")).toEqual(await search("Saturday live"))
  expect((await search("--")).length).toBe(2)
})
it("19: every exclusion removes on its own", async () => {
  const search = await titles(["red kettle", "steel kettle", "copper lid kettle", "lid of copper kettle"])
  expect((await search("-red -steel")).sort()).toEqual(["copper lid kettle", "lid of copper kettle"])
  expect((await search('kettle -"copper lid"')).sort()).toEqual(["lid of copper kettle", "red kettle", "steel kettle"])
})
it("20: max_candidates caps prefix words, continuation first", async () => {
  const lab = await documents(
    [
      { name: "name", type: "string" },
      { name: "city", type: "string" }
    ],
    [
      { name: "Ida Stone", city: "x" },
      { name: "Ida Strand", city: "x" },
      { name: "Ida Adams", city: "Skive" },
      { name: "Bo", city: "Silkeborg" }
    ]
  )
  const ids = await lab.ids("c", { q: "ida s", query_by: "name,city", max_candidates: 2, num_typos: 0 })
  expect(ids.slice(0, 2).sort()).toEqual(["0", "1"])
})
it("21: filtered documents use up no candidate", async () => {
  const lab = await documents(
    [
      { name: "name", type: "string" },
      { name: "ok", type: "bool" }
    ],
    [
      ...Array.from({ length: 12 }, (_, i) => ({ name: `ida s${String.fromCharCode(97 + i)}x`, ok: false })),
      { name: "ida szz", ok: true }
    ]
  )
  expect(await lab.ids("c", { q: "ida s", query_by: "name", filter_by: "ok:true", max_candidates: 2 })).toEqual(["12"])
})
it("22: repeated words need not be repeated, except in a phrase", async () => {
  const search = await titles(["Pip Pip", "Pip Lark", "Lark Pip Pip"])
  const found = await search("pip pip")
  expect([found[0], found.length]).toEqual(["Pip Pip", 3])
  expect(await (await titles(["very easy", "very easy very"]))('"very easy very"')).toEqual(["very easy very"])
})
it("23: a phrase lies in one array element", async () => {
  const lab = await documents([{ name: "tags", type: "string[]" }], [{ tags: ["state of the", "of the art"] }])
  expect(await lab.ids("c", { q: '"state of the art"', query_by: "tags" })).toEqual([])
  expect(await lab.ids("c", { q: '"state of the art', query_by: "tags" })).toEqual(["0"])
})
it("24: a phrase stands in its order and places", async () => {
  expect(await (await titles(["super super easy"]))('"super easy super"')).toEqual([])
})
