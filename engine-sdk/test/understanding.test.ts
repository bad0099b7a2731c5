/**
 * Readings of a query, and the values that it names: pure decisions, and the engine's knowledge of its words, on the
 * searching thread and on another.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { createAnalyzer } from "../src/analysis/mod.ts"
import { createEngine, openEngine } from "../src/mod.ts"
import type { SearchEngine, WordUse } from "../src/engine.ts"
import type { SearchPlan } from "../src/plan.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"
import {
  chosenEntities,
  correctedQuery,
  EntityIndex,
  layoutReadings,
  parseRewriteKinds,
  RewriteSearch,
  spellingsOf,
  splitAtDigits,
  typedOn
} from "../src/understanding/mod.ts"
import { layouts } from "../src/understanding/layouts.ts"

describe("layouts", () => {
  it("list every key in both states, and no letter on two keys", () => {
    for (const { name, plain, shifted } of layouts) {
      expect([name, plain.length, shifted.length]).toEqual([name, 47, 47])
      const letters = plain.filter((key) => /\p{L}/u.test(key) && !(name === "azerty" && key.length > 1))
      expect([name, new Set(letters).size]).toEqual([name, letters.length])
    }
  })
  it("are converted into each other, with shift and dead keys", () => {
    const readings = (q: string) => layoutReadings(q.split(" ")).map(({ words }) => words.join(" "))
    expect(readings("ghbdtn")).toContain("привет")
    expect(readings("Ghbdtn")).toContain("привет")
    expect(readings("{jkjlbkmybr")).toContain("холодильник")
    expect(readings("ршыещкн")).toContain("history")
    expect(readings("akoystik;a")).toContain("ακουστικά")
    expect(readings("ακυρςσιτ")).toContain("akyrwsit")
    expect(readings("יקשגפיםמקד")).toContain("headphones")
    expect(readings("اثشيحاخىثس")).toContain("headphones")
    expect(readings("zoghurt")).toContain("yoghurt")
    expect(readings("iphone ghbdtn")).toContain("шзрщту привет")
    expect(typedOn("ακουστικά", "greek", "qwerty")).toBe("akoystik;a")
  })
})

describe("transliteration", () => {
  it.each([
    ["shchetka", "щетка"],
    ["kruzhka", "кружка"],
    ["jakor'", "якорь"],
    ["xoroshij", "хороший"],
    ["čajnik", "чайник"],
    ["obuv", "обувь"],
    ["yizha", "їжа"],
    ["navushnyky", "навушники"],
    ["psygeio", "ψυγείο"],
    ["8hkh", "θήκη"],
    ["самсунг", "samsung"],
    ["ποδήλατο", "podilato"]
  ])("%s may be %s", (typed, meant) => {
    const spelled = spellingsOf(typed, 96).flatMap(({ spellings }) => spellings)
    expect(spelled).toContain(meant)
  })
  it("is bounded, and does not change texts in two scripts or in none", () => {
    for (const { spellings } of spellingsOf("ieieieieieieieieieieieieieieieie", 96))
      expect(spellings.length).toBeLessThanOrEqual(96)
    expect(spellingsOf("a".repeat(33), 96)).toEqual([])
    expect(spellingsOf("kружка", 96)).toEqual([])
    expect(spellingsOf("12345", 96)).toEqual([])
  })
})

describe("rewrites", () => {
  const knowing =
    (...indexed: ReadonlyArray<string>) =>
    (word: string): WordUse => ({
      isIndexed: indexed.includes(word),
      isBeginning: indexed.some((each) => each.startsWith(word))
    })
  const all = ["layout", "translit", "split"] as const
  it("split digits from letters, and compounds into known words", () => {
    expect(splitAtDigits("500ml")).toBe("500 ml")
    expect(splitAtDigits("iphone15pro")).toBe("iphone 15 pro")
    expect(splitAtDigits("27.5inch")).toBe("27.5 inch")
    expect(splitAtDigits("mug")).toBeUndefined()
    const known = knowing("winter", "coat")
    expect(new RewriteSearch("wintercoat", all).candidates(known, 6)).toEqual([{ kind: "split", q: "winter coat" }])
  })
  it("are those that the index knows, in the order of the kinds, whatever the order of the list", () => {
    const known = knowing("привет", "прилет", "ghb", "dtn")
    expect(new RewriteSearch("ghbdtn", ["split", "layout"]).candidates(known, 6)).toEqual([
      { kind: "layout", q: "привет" },
      { kind: "split", q: "ghb dtn" }
    ])
    expect(new RewriteSearch("ghbdtn", ["split", "layout"]).candidates(known, 1)).toHaveLength(1)
  })
  it("keep words that are already right", () => {
    const known = knowing("iphone", "чехол")
    expect(new RewriteSearch("iphone xt[jk", all).candidates(known, 6)).toEqual([{ kind: "layout", q: "iphone чехол" }])
  })
  it("complete a last word", () => {
    expect(new RewriteSearch("ghbd", all).candidates(knowing("привет"), 6)[0]).toEqual({ kind: "layout", q: "прив" })
    // If the last word must be complete, the index knows none, and this is the likeliest guess.
    const [guess] = new RewriteSearch("ghbd", ["translit"]).candidates(knowing("привет"), 6, false)
    expect(guess).toEqual({ kind: "translit", q: "гхбд" })
  })
  it("are guessed if nothing is known, and never more than requested", () => {
    expect(new RewriteSearch("ghbdtn", ["layout"]).candidates(undefined, 6)[0]).toEqual({ kind: "layout", q: "привет" })
    expect(new RewriteSearch("kruzhka", all).candidates(undefined, 6).length).toBeLessThanOrEqual(6)
    expect(new RewriteSearch("kruzhka", all).candidates(undefined, 0)).toEqual([])
  })
  it("do not change prose, and look up at most six hundred words in the index", () => {
    expect(new RewriteSearch("one two three four five six seven eight nine", all).candidates(undefined, 6)).toEqual([])
    expect(new RewriteSearch("x".repeat(201), all).words).toEqual([])
    const long = Array.from({ length: 8 }, (_, i) => `${"ieaiuo".repeat(3)}${"abcdefgh"[i]}`).join(" ")
    expect(new RewriteSearch(long, all).words.length).toBeLessThanOrEqual(600)
  })
  it("are named by a list, or refused", () => {
    expect(parseRewriteKinds(" split, layout,,split")).toEqual({ ok: true, value: ["layout", "split"] })
    expect(parseRewriteKinds("")).toEqual({ ok: true, value: [] })
    expect(parseRewriteKinds("layout,constructor")).toMatchObject({ ok: false, error: { kind: "Invalid" } })
  })
})

describe("corrected queries", () => {
  const analyzer = createAnalyzer({})
  it("keep everything except the words", () => {
    const corrections = [{ typed: "enamle", indexed: "enamel" }]
    expect(correctedQuery(' "Blue"  enamle, -mug ', corrections, analyzer)).toBe('"Blue" enamel, -mug')
    expect(correctedQuery("blue mug", corrections, analyzer)).toBeUndefined()
    expect(correctedQuery("blue mug", [], analyzer)).toBeUndefined()
  })
})

describe("an index of values", () => {
  const analyzer = createAnalyzer({})
  const built = (fields: Parameters<typeof EntityIndex.build>[0], bytes_max?: number): EntityIndex => {
    const steps = EntityIndex.build(fields, analyzer, bytes_max)
    for (;;) {
      const step = steps.next()
      if (step.done === true) return step.value
    }
  }
  const index = built([
    { field: "brand", values: ["Blue Mountain", "Café Noir", "constructor", "__proto__"] },
    { field: "color", values: ["Blue", "BLUE", "Noir", "de"] }
  ])
  const named = (q: string) => chosenEntities(index.candidates(analyzer.tokenize(q)), (_field, value) => value)
  it("names the longest value first, by words without case and accents", () => {
    expect(named("blue mountain blue")).toEqual([
      { text: "blue mountain", field: "brand", value: "Blue Mountain" },
      { text: "blue", field: "color", value: "Blue" }
    ])
    expect(named("CAFE noir")).toEqual([{ text: "cafe noir", field: "brand", value: "Café Noir" }])
    expect(named("mountain")).toEqual([])
  })
  it("treats names of object members as words, and words of sentences as no values", () => {
    expect(named("constructor tostring")).toEqual([{ text: "constructor", field: "brand", value: "constructor" }])
    expect(named("botella de agua")).toEqual([])
  })
  it("checks one value after the other, and continues if one is hidden", async () => {
    const asked: Array<string> = []
    const found = await chosenEntities(index.candidates(["blue", "mountain"]), async (_field, value) => {
      asked.push(value)
      return value === "Blue Mountain" ? undefined : value
    })
    expect(asked).toEqual(["Blue Mountain", "Blue"])
    expect(found).toEqual([{ text: "blue", field: "color", value: "Blue" }])
  })
  it("takes no more than its bytes", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `value number ${i}`)
    const bounded = built([{ field: "f", values: many }], 100_000)
    expect(bounded.bytes).toBeLessThan(101_000)
    expect(bounded.size).toBeGreaterThan(100)
    expect(bounded.size).toBeLessThan(1_000)
  })
})

describe("an engine's knowledge of words", () => {
  const schema = suiteSchema("c", [
    suiteField("title", "string"),
    suiteField("shelf", "string"),
    suiteField("note", "string")
  ])
  const fill = async (engine: SearchEngine) => {
    await engine.createCollection("t", schema, 1)
    await engine.write("t", "c", [
      putOf({ id: "1", title: "enamel mug", shelf: "open" }),
      putOf({ id: "2", title: "prototype enamal", shelf: "hidden" }),
      putOf({ id: "3", title: "gone", shelf: "open" })
    ])
    await engine.write("t", "c", [{ kind: "delete", id: "3" }])
  }
  const hidden = {
    kind: "string",
    field: "shelf",
    values: [{ tokens: ["open"], match: "contains", prefix: false }],
    prefixCandidates: 4
  } as const
  const planFor = (token: string, more: Partial<SearchPlan> = {}): SearchPlan => {
    const text = {
      tokens: [token],
      surface: [token],
      phrases: [],
      excluded: [],
      synonyms: [],
      fields: [{ field: "title", weight: 15, numTypos: 2, prefix: true, infix: "off" }],
      synonymPrefix: false,
      demoteSynonymMatch: false,
      textMatchType: "max_score",
      prioritizeExactMatch: true,
      prioritizeTokenPosition: false,
      prioritizeNumMatchingFields: true,
      minLen1Typo: 4,
      minLen2Typo: 7,
      typoTokensThreshold: 1,
      dropTokensThreshold: 1,
      dropTokensMode: { kind: "right_to_left" },
      splitJoinTokens: "off",
      typosForNumericalTokens: true,
      typosForAlphaNumericalTokens: true,
      maxCandidates: undefined,
      exhaustive: false,
      maxExtraPrefix: 0,
      maxExtraSuffix: 0
    } as NonNullable<SearchPlan["text"]>
    return suitePlan("c", { text, corrects: true, ...more })
  }
  const correctionsOf = async (engine: SearchEngine, plan: SearchPlan) => {
    const [answer] = await engine.search("t", [plan])
    if (!answer!.ok) throw new Error(answer!.error.message)
    return answer!.value.corrections
  }

  it("gives corrections if they are requested", async () => {
    const engine = createEngine()
    await fill(engine)
    expect(await correctionsOf(engine, planFor("enamle"))).toEqual([{ typed: "enamle", indexed: "enamel" }])
    expect(await correctionsOf(engine, planFor("enamel"))).toBeUndefined()
    expect(await correctionsOf(engine, planFor("enam"))).toBeUndefined()
    expect(await correctionsOf(engine, { ...planFor("enamle"), corrects: false })).toBeUndefined()
    // A word that occurs only in documents hidden from a key is a typing error to that key; the request's own filter
    // does not count.
    expect(await correctionsOf(engine, planFor("enamal"))).toBeUndefined()
    expect(await correctionsOf(engine, planFor("enamal", { filter: hidden }))).toBeUndefined()
    expect(await correctionsOf(engine, planFor("enamal", { filter: hidden, pinnedFilter: hidden }))).toEqual([
      { typed: "enamal", indexed: "enamel" }
    ])
    await engine.close()
  })
  it("includes words of documents that pass a filter and are not deleted", async () => {
    const engine = createEngine()
    await fill(engine)
    const asked = {
      collection: "c",
      fields: ["title", "unknown"],
      words: ["mug", "prototype", "proto", "gone", "Enamel Mug", ""]
    }
    const uses = async (more: object) => {
      const answer = await engine.words!("t", { ...asked, ...more })
      return answer.ok ? answer.value.map(({ isBeginning, isIndexed }) => `${isIndexed} ${isBeginning}`) : answer.error
    }
    expect(await uses({})).toEqual(["true true", "true true", "false true", "false false", "true false", "false false"])
    expect(await uses({ filter: hidden })).toEqual([
      "true true",
      "false false",
      "false false",
      "false false",
      "true false",
      "false false"
    ])
    expect(await engine.words!("t", { ...asked, collection: "none" })).toMatchObject({ ok: false })
    await engine.close()
  })
  it("is the same on another thread", async () => {
    const path = mkdtempSync(join(tmpdir(), "dowser-understanding-"))
    const engine = await openEngine({ path, worker: true })
    try {
      await fill(engine)
      const here = await correctionsOf(engine, planFor("enamle"))
      expect(await correctionsOf(engine, planFor("enamle", { isLong: true }))).toEqual(here)
      expect(here).toEqual([{ typed: "enamle", indexed: "enamel" }])
    } finally {
      await engine.close()
      rmSync(path, { recursive: true })
    }
  })
})
