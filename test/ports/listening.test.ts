/**
 * How a decoder listens for given words: the beam search, over a model that is a table, and the words it listens for.
 */
import { describe, expect, it } from "vitest"
import { questionOf, readQuestion } from "../../src/ports/transcriber/local/question.ts"
import { Beams, type Hypothesis } from "../../src/ports/transcriber/moonshine/beams.ts"
import type { Graphs, Remembered } from "../../src/ports/transcriber/moonshine/graphs.ts"
import { Lexicon } from "../../src/ports/transcriber/moonshine/lexicon.ts"
import { Openings, wordsOfOpenings } from "../../src/ports/transcriber/moonshine/openings.ts"
import { PieceIndex } from "../../src/ports/transcriber/moonshine/pieces.ts"

const vocabulary = ["<unk>", "<s>", "</s>", "▁and", "▁sig", "nage", "▁Ins", "ig", "nia", "▁in", "▁case", "▁Case", "."]
const pieces = new PieceIndex(vocabulary)
const numberOf = (piece: string) => vocabulary.indexOf(piece)
/** The likelihood of each continuation of a text; all others have next to none. */
type Table = Readonly<Record<string, Readonly<Record<string, number>>>>
const graphsOf = (table: Table) => {
  const counts: Array<number> = []
  const logitsOf = (spoken: ReadonlyArray<string>): ReadonlyArray<number> => {
    const next = table[spoken.join("")] ?? { "</s>": 1 }
    return vocabulary.map((piece) => Math.log(next[piece] ?? 1e-6))
  }
  const remembered = (sound: Remembered["sound"], all: ReadonlyArray<ReadonlyArray<string>>): Remembered => {
    counts.push(all.length)
    // The table's memory is a list of pieces for each continuation, in place of keys and values.
    const past = { pieces: { data: new Float32Array(), dims: [], all } }
    return { sound, past, logits: Float32Array.from(all.flatMap(logitsOf)) }
  }
  const graphs: Graphs = {
    encode: async (samples) => ({ data: samples, dims: [samples.length] }),
    begin: async (sound) => remembered(sound, [[]]),
    next: async ({ past, sound }, from, tokens) => {
      const { all } = past.pieces as unknown as { readonly all: ReadonlyArray<ReadonlyArray<string>> }
      return remembered(
        sound,
        from.map((row, at) => [...all[row]!, vocabulary[tokens[at]!]!])
      )
    }
  }
  return { graphs, counts }
}
const sound = { data: new Float32Array(), dims: [0] }
const textOf = ({ tokens }: Hypothesis) => tokens.map(({ token }) => vocabulary[token]).join("")
const table: Table = {
  "": { "▁and": 0.9, "▁Ins": 0.1 },
  "▁and": { "▁sig": 0.9, "</s>": 0.1 },
  "▁and▁sig": { nage: 1 },
  "▁and▁signage": { "▁case": 0.5, "▁Case": 0.4, "</s>": 0.1 },
  "▁Ins": { ig: 1 },
  "▁Insig": { nia: 1 },
  "▁Insignia": { "▁case": 1 },
  "▁Insignia▁case": { "</s>": 0.6, ".": 0.4 }
}
const search = async (
  lexicon: ReadonlyArray<string>,
  options: Partial<ConstructorParameters<typeof Beams>[2]> = {}
) => {
  const { graphs, counts } = graphsOf(table)
  const beams = new Beams(pieces, new Lexicon(lexicon), { beams: 3, tokens: 3, perLetter: 0, ...options })
  return { found: await beams.search(graphs, sound, 8), counts }
}

describe("a beam search", () => {
  it("with one beam takes the likeliest piece each time, up to its length", async () => {
    const { found } = await search([], { beams: 1, tokens: 1 })
    expect(found.map(textOf)).toEqual(["▁and▁signage▁case"])
    const { graphs } = graphsOf({ "": { "▁in": 1 }, "▁in": { "▁in": 1 }, "▁in▁in": { "▁in": 1 } })
    const endless = await new Beams(pieces, new Lexicon([]), { beams: 1, tokens: 1, perLetter: 0 }).search(
      graphs,
      sound,
      2
    )
    expect(endless.map(textOf)).toEqual(["▁in▁in"])
  })
  it("finds alternatives that differ in more than capitals and marks, with their likelihoods", async () => {
    const { found, counts } = await search([], { beams: 4 })
    const texts = found.map(textOf)
    expect(texts[0]).toBe("▁and▁signage▁case")
    expect(texts).toContain("▁Insignia▁case")
    expect(texts.filter((text) => /signage▁case/i.test(text))).toHaveLength(1)
    expect(Math.exp(found[0]!.heard)).toBeCloseTo(0.9 * 0.9 * 0.5, 4)
    expect(Math.max(...counts)).toBeLessThanOrEqual(4)
  })
  it("keeps a place for alternatives beside those that differ in capitals alone", async () => {
    const { graphs } = graphsOf({ "": { "▁case": 0.5, "▁Case": 0.4, "▁in": 0.1 } })
    const found = await new Beams(pieces, new Lexicon([]), { beams: 2, tokens: 3, perLetter: 0 }).search(
      graphs,
      sound,
      4
    )
    expect(found.map(textOf)).toEqual(["▁case", "▁in"])
  })
  it("prefers words that it listens for, and reports the likelihood without that preference", async () => {
    const { found } = await search(["insignia", "case"], { perLetter: 0.5 })
    expect(textOf(found[0]!)).toBe("▁Insignia▁case")
    expect(Math.exp(found[0]!.heard)).toBeCloseTo(0.1 * 0.6, 4)
    expect(found[0]!.worth - found[0]!.heard).toBeCloseTo(0.5 * "insigniacase".length, 5)
  })
  it("takes back the bonus for a beginning that becomes no word", async () => {
    const { found } = await search(["signal", "case"], { perLetter: 2 })
    const signage = found.find((each) => textOf(each) === "▁and▁signage▁case")!
    expect(signage.worth - signage.heard).toBeCloseTo(2 * "case".length, 5)
    const short = await search(["insigniacs"], { perLetter: 2 })
    const ended = short.found.find((each) => textOf(each) === "▁Insignia▁case")
    expect(ended === undefined ? 0 : ended.worth - ended.heard).toBeCloseTo(0, 5)
  })
  it("considers pieces of such words however unlikely the model finds them", async () => {
    const unlikely: Table = { ...table, "": { "▁and": 0.9, "▁in": 0.0999, "▁Ins": 1e-4 } }
    const { graphs } = graphsOf(unlikely)
    const of = (lexicon: ReadonlyArray<string>) =>
      new Beams(pieces, new Lexicon(lexicon), { beams: 3, tokens: 2, perLetter: 2 }).search(graphs, sound, 8)
    expect((await of([])).map(textOf)).not.toContain("▁Insignia▁case")
    expect((await of(["insignia", "case"])).map(textOf)[0]).toBe("▁Insignia▁case")
  })
})

describe("words to listen for", () => {
  it("are found letter by letter", () => {
    const lexicon = new Lexicon(["case", "cases", "cast", "über", "case"])
    const at = (text: string) => {
      let found = lexicon.step(lexicon.all, text.charCodeAt(0))
      for (let i = 1; i < text.length && found !== undefined; i++) found = lexicon.step(found, text.charCodeAt(i))
      return found
    }
    expect(lexicon.rests(at("cas")!)).toEqual(["e", "es", "t"])
    expect(["cas", "case", "cases", "über"].map((text) => lexicon.isWord(at(text)!))).toEqual([false, true, true, true])
    expect(["b", "casex", "z"].map(at)).toEqual([undefined, undefined, undefined])
    expect(lexicon.isWord(lexicon.all)).toBe(false)
    expect(new Lexicon([]).step({ from: 0, to: 0, depth: 0 }, 97)).toBe(undefined)
  })
  it("have pieces that continue them, in any capitals", () => {
    expect(pieces.goingOn(["case"], true).map((token) => vocabulary[token])).toEqual(["▁case", "▁Case"])
    expect(pieces.goingOn(["nia", "nage"], false)).toEqual([numberOf("nia"), numberOf("nage")])
    expect(pieces.goingOn([""], true)).toEqual([])
  })
})

describe("the beginnings of documents", () => {
  const openings = new Openings(
    ["spigen ultra hybrid case", "jisoncase wallet case", "insignia directional microphone", "mophie juice pack"].join(
      "\n"
    )
  )
  it("is found by its sound, also when split, and without its first syllable", () => {
    for (const [heard, meant] of [
      ["Spy just an ultra hybrid case", "spigen ultra hybrid case"],
      ["just in case, wallet case", "jisoncase wallet case"],
      ["and signage directional my crow phone", "insignia directional microphone"],
      ["Mafi juice back", "mophie juice pack"]
    ] as const)
      expect([heard, openings.near([heard], 1)]).toEqual([heard, [meant]])
  })
  it("is empty where nothing sounds similar, and has no more entries than requested", () => {
    expect(openings.near(["4711"], 3)).toEqual([])
    expect(openings.near(["case"], 1).length).toBeLessThanOrEqual(1)
    expect(new Openings("").near(["case"], 3)).toEqual([])
    expect(openings.bytes).toBeGreaterThan(1_000)
  })
  it("gives words that begin with a letter, each once", () => {
    expect(wordsOfOpenings(["case for 6s case", "16gb über"])).toEqual(["case", "for", "über"])
  })
})

describe("a question to the transcriber's thread", () => {
  it("is read as it was sent, with openings and without", () => {
    const samples = Float32Array.of(0.5, -1, 0.25)
    for (const text of ["ä", "ab", "abc", "abcd\nefg"]) {
      const likely = { name: "n1", openings: new TextEncoder().encode(text) }
      const read = readQuestion(questionOf(samples, likely).buffer as ArrayBuffer)
      expect([[...read.samples], read.likely?.name, new TextDecoder().decode(read.likely?.openings)]).toEqual([
        [...samples],
        "n1",
        text
      ])
    }
    expect(readQuestion(questionOf(samples.subarray(1), undefined).buffer as ArrayBuffer)).toEqual({
      samples: Float32Array.of(-1, 0.25)
    })
  })
})
