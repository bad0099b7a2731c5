/**
 * Question: how many words of a spoken product query are wrong, is the right product still among the first five, and
 * how long does it take? Workload: beginnings of real product names, spoken by synthetic voices to a program started
 * as its users start it, over its HTTP operations. A query counts only if the same words, typed, show the product in
 * the first five. Sentences about something else, spoken by the same voices, show how hard a voice is to understand,
 * and how they affect a product search. Missing voices and product data are listed by name.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { findInstalled, placesOf } from "../../src/models/install/places.ts"
import { readPinned, readPinnedTranscriber } from "../../src/models/install/pinned.ts"
import { TRANSCRIBER_SIZES } from "../../src/ports/transcriber/moonshine/layout.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { machine, percentiles, readLines, report, round, rssMb } from "../harness/harness.ts"
import { type RunningProgram, startServer } from "../harness/program.ts"
import { sentences } from "../inputs/voices/sentences.ts"
import { openVoices, type Voice } from "../inputs/voices/voices.ts"

export interface VoiceOptions {
  readonly texts: number
  /** Names, separated by commas. */ readonly voices: string
  readonly seed: number
  readonly out: string | undefined
}
const NAME = "catalogue_bestbuy_typesense"
const products = join(new URL("../../../shared/data/", import.meta.url).pathname, NAME, "docs.jsonl.gz")

/** The reason why it cannot run here. */
export const voiceMissing = (): string | undefined => {
  const places = placesOf("", undefined)
  const hasTranscriber = TRANSCRIBER_SIZES.some((size) => findInstalled(places, readPinnedTranscriber(size)))
  if (findInstalled(places, readPinned()) === undefined || !hasTranscriber)
    return "no transcriber is installed (`dowser models install --voice tiny`)"
  return existsSync(products) ? undefined : `the data ${NAME} is not beside the project (../shared/data)`
}

interface Asked {
  readonly id: string
  readonly q: string
}
const WORDS = 4,
  FIRST = 5
const plain = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
const spokenName = (name: string): string =>
  [...new Set(name.match(/\p{L}+/gu) ?? [])]
    .filter((word) => word.length > 2)
    .slice(0, WORDS)
    .join(" ")
/** The number of spoken words that were inserted, deleted or substituted. */
const errorsOf = (spoken: ReadonlyArray<string>, heard: ReadonlyArray<string>): number => {
  let row = Array.from({ length: heard.length + 1 }, (_, j) => j)
  for (const [i, word] of spoken.entries()) {
    const next = [i + 1]
    for (const [j, other] of heard.entries())
      next.push(Math.min(row[j]! + (word === other ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
    row = next
  }
  return row[heard.length]!
}

const callOf =
  ({ full_key, port }: RunningProgram) =>
  async (method: string, path: string, body?: string | Buffer): Promise<any> => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
      method,
      headers: { "x-svc-api-key": full_key },
      ...(body === undefined ? {} : { body: body as BodyInit })
    })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    const text = await answer.text()
    return path.endsWith("/import") ? text : JSON.parse(text)
  }
type Call = ReturnType<typeof callOf>

/** The runtime of the program's own models, which also runs the voices. */
const runtimeFolder = () => findInstalled(placesOf("", undefined), readPinned())!

const isShown = (answer: any, id: string): boolean =>
  answer.hits.slice(0, FIRST).some(({ document }: any) => document.id === id)
const PATH = "/collections/products/documents"
const QUERY = "query_by=name,brand&include_fields=id&per_page=5"
const typed = (call: Call, q: string) => call("GET", `${PATH}/search?${QUERY}&q=${encodeURIComponent(q)}`)

const fill = async (call: Call): Promise<ReadonlyArray<Asked>> => {
  const lines = await readLines(products)
  const fields = ["name", "brand", "description"].map((name) => ({ name, type: "string", optional: true }))
  await call("POST", "/collections", JSON.stringify({ name: "products", fields }))
  await call("POST", `${PATH}/import`, lines.join("\n"))
  return lines.map((line) => {
    const { id, name } = JSON.parse(line) as { readonly id: string; readonly name: string }
    return { id, q: spokenName(name) }
  })
}
/** Queries that find their document when typed. */
const chosen = async (call: Call, all: ReadonlyArray<Asked>, { seed, texts }: VoiceOptions) => {
  const random = makeRandom(seed)
  const found: Array<Asked> = []
  for (let tries = 0; found.length < texts && tries < 10 * texts; tries++) {
    const asked = all[random.below(all.length)]!
    if (asked.q.includes(" ") && isShown(await typed(call, asked.q), asked.id)) found.push(asked)
  }
  return found
}

interface Sums {
  words: number
  rawErrors: number
  errors: number
  shown: number
  rawShown: number
  readonly took: Array<number>
}
const listened = async (call: Call, asked: ReadonlyArray<Asked>, { speak }: Voice): Promise<Sums> => {
  const sums: Sums = { words: 0, rawErrors: 0, errors: 0, shown: 0, rawShown: 0, took: [] }
  for (const { id, q } of asked) {
    const wav = await speak(q)
    const began = performance.now()
    const answer = await call("POST", `${PATH}/voice_search?${QUERY}`, wav)
    sums.took.push(performance.now() - began)
    const { raw_text, text } = answer.transcript as { readonly raw_text: string; readonly text: string }
    const spoken = plain(q)
    sums.words += spoken.length
    sums.rawErrors += errorsOf(spoken, plain(raw_text))
    sums.errors += errorsOf(spoken, plain(text))
    if (isShown(answer, id)) sums.shown++
    const uncorrected = plain(raw_text).join(" ")
    if (uncorrected !== "" && isShown(await typed(call, uncorrected), id)) sums.rawShown++
  }
  return sums
}
/** Wrong words in what is searched for when somebody says something else. */
const inSentences = async (call: Call, { speak }: Voice) => {
  let words = 0,
    rawErrors = 0,
    errors = 0
  for (const sentence of sentences) {
    const { transcript } = await call("POST", `${PATH}/voice_search?${QUERY}`, await speak(sentence))
    const spoken = plain(sentence)
    words += spoken.length
    rawErrors += errorsOf(spoken, plain(transcript.raw_text))
    errors += errorsOf(spoken, plain(transcript.text))
  }
  return { wer_raw: round(rawErrors / words, 3), wer_corrected: round(errors / words, 3) }
}
const shares = ({ errors, rawErrors, rawShown, shown, took, words }: Sums) => ({
  wer_raw: round(rawErrors / words, 3),
  wer_corrected: round(errors / words, 3),
  first_five_raw: round(rawShown / took.length, 3),
  first_five: round(shown / took.length, 3),
  took: percentiles([...took])
})

/** A text that takes five seconds to speak, sent alone. */
const FIVE_SECONDS = "I am looking for a new washing machine for my apartment, with a large drum and a quiet motor."
const fiveSeconds = async (call: Call, wav: Buffer) => {
  const took: Array<number> = []
  let seconds = 0
  for (let i = 0; i < 10; i++) {
    const began = performance.now()
    const answer = await call("POST", "/voice/transcriptions", wav)
    took.push(performance.now() - began)
    seconds = answer.duration_seconds
  }
  return { seconds, took: percentiles(took) }
}

export const benchVoice = async (options: VoiceOptions): Promise<void> => {
  const missing = voiceMissing()
  if (missing !== undefined) throw new Error(missing)
  const { missing: without, voices } = await openVoices(runtimeFolder(), options.voices.split(","))
  const [first] = voices
  if (first === undefined) throw new Error(`None of the voices can be had: ${JSON.stringify(without)}.`)
  const server = await startServer(["--credit-prices", "voice=0"])
  try {
    const call = callOf(server)
    const asked = await chosen(call, await fill(call), options)
    const { model } = await call("POST", "/voice/transcriptions", await first.speak("hello"))
    const rss_loaded_mb = rssMb(server.pid)
    const each: Record<string, unknown> = {}
    for (const voice of voices)
      each[voice.name] = {
        kind: voice.kind,
        ...shares(await listened(call, asked, voice)),
        sentences: await inSentences(call, voice)
      }
    const five_seconds = await fiveSeconds(call, await first.speak(FIVE_SECONDS))
    const rss_mb = rssMb(server.pid)
    report(
      "Voice",
      {
        model,
        machine: machine(),
        texts: asked.length,
        seed: options.seed,
        voices: each,
        without,
        five_seconds,
        rss_loaded_mb,
        rss_mb
      },
      options.out
    )
  } finally {
    await server.stop()
  }
}
