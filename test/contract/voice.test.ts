/**
 * Speech over HTTP: what is transcribed and searched for, in which order things are refused, what it costs, and which
 * of a collection's words a key may hear; two organizations side by side, with a transcription server on loopback.
 */
import { readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { RATE } from "../../src/ports/audio-decoder/audio-decoder.ts"
import { writeWav } from "../../src/ports/audio-decoder/wav.ts"
import { QUIET } from "../../src/voice/quiet.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { securedKey } from "../support/secured.ts"
import { voiceLike } from "../support/sound-files.ts"
import { saying, startTranscriberServer, type TranscriberServer } from "../support/transcriber-server.ts"

let program: Program, tenant: Tenant, other: Tenant, bare: Tenant
let server: TranscriberServer
const SESSION = { "x-svc-session-id": "s1" }
const speech = Buffer.from(writeWav(voiceLike(2, 0.3, 1.7), RATE))
const send = (method: string, path: string, body?: unknown, owner = tenant, key = owner.full_key) =>
  program.request(method, `/v1${path}`, { key, body, headers: SESSION })
const write = (body: unknown, query = "", owner = tenant, key = owner.full_key) =>
  send("POST", `/voice/transcriptions${query}`, body, owner, key)
const search = (body: unknown, query = "", owner = tenant, key = owner.full_key) =>
  send("POST", `/collections/goods/documents/voice_search${query}`, body, owner, key)
const credits = async (owner: Tenant): Promise<number> =>
  (await send("GET", "/entitlement", undefined, owner)).body.credits.balance as number
const titles = (body: any): ReadonlyArray<string> => body.hits.map(({ document }: any) => document.title)
const goods = [
  { id: "1", title: "Samsung television 55 inches", price: 700, seller: "a" },
  { id: "2", title: "Wireless bluetooth headphones", price: 80, seller: "a" },
  { id: "3", title: "Kitchen knife set", price: 40, seller: "b" },
  { id: "4", title: "Zanzibar lantern", price: 20, seller: "b" }
]

beforeAll(async () => {
  server = await startTranscriberServer()
  // No model is installed for this test, whatever this machine has.
  program = await startProgram({ allowPrivateAddresses: true, modelsFolder: join(tmpdir(), "dowser-no-models") })
  tenant = await program.tenant("Voices")
  other = await program.tenant("Other voices")
  bare = await program.tenant("Silent")
  for (const owner of [tenant, other, bare]) {
    await program.topUp(owner.organization_id, 100)
    const fields = [
      { name: "title", type: "string" },
      { name: "price", type: "float" },
      { name: "seller", type: "string", facet: true }
    ]
    expect((await send("POST", "/collections", { name: "goods", fields }, owner)).status).toBe(201)
  }
  for (const document of goods) await send("POST", "/collections/goods/documents", document)
  await send("POST", "/collections/goods/documents", { id: "1", title: "Other thing", price: 1, seller: "x" }, other)
  for (const owner of [tenant, other]) {
    const provider = { kind: "deepgram", model: "nova", url: server.url, api_key: "voice-secret-key" }
    const put = await send("PUT", "/ai/providers/transcriber", provider, owner)
    expect([put.status, put.text]).toEqual([200, expect.not.stringContaining("voice-secret-key")])
  }
})
afterAll(async () => {
  await program.stop()
  await server.close()
})
beforeEach(() => {
  server.says = []
  server.misbehaves = undefined
  server.asked.length = 0
})

describe("a transcription", () => {
  it("is the speech with its times, from raw audio, from base64 and from Opus", async () => {
    server.says = saying("Kitchen knife set.")
    const ogg = readFileSync(new URL("../../fixtures/speech/kitchen-knife-set.ogg", import.meta.url))
    for (const body of [speech, ogg, { audio: speech.toString("base64"), language: "en-US" }]) {
      const answer = await write(body)
      expect(answer.status, answer.text).toBe(200)
      expect(answer.body).toMatchObject({
        text: "Kitchen knife set.",
        language: "en",
        segments: [{ start: 0, text: "Kitchen knife set." }],
        model: "deepgram/nova"
      })
    }
    expect((await write(speech)).body.duration_seconds).toBe(2)
    expect(server.asked.at(-1)!.query.get("detect_language")).toBe("true")
    await write(speech, "?language=de")
    expect(server.asked.at(-1)!.query.get("language")).toBe("de")
  })
  it("of a recording without speech calls no model", async () => {
    expect((await write({ audio: QUIET })).body).toEqual({
      text: "",
      language: "und",
      duration_seconds: 0.05,
      segments: [],
      model: "deepgram/nova"
    })
    expect(server.asked).toEqual([])
  })
  it("costs half a credit per started quarter of a minute, and nothing if it fails", async () => {
    const before = await credits(tenant)
    const others = await credits(other)
    await write(speech)
    expect(before - (await credits(tenant))).toBeCloseTo(0.5, 5)
    await write(Buffer.from(writeWav(voiceLike(31, 0.3, 30), RATE)))
    expect(before - (await credits(tenant))).toBeCloseTo(2, 5)
    server.misbehaves = (_, response) => {
      response.writeHead(400).end("no")
      return true
    }
    const refused = await write(speech)
    expect([refused.status, refused.text]).toEqual([502, expect.stringMatching(/`deepgram\/nova` answered 400: no/)])
    expect(before - (await credits(tenant))).toBeCloseTo(2, 5)
    expect(await credits(other)).toBe(others)
  })
  it("is refused with 400 if the audio cannot be decoded, then 409 without a transcriber, then 402", async () => {
    const formats = "Sound is one of wav, ogg (Opus), webm (Opus), mp3, flac."
    for (const [body, path, message] of [
      ["no sound", "body", formats],
      [Buffer.alloc(0), "body", "Sound, or JSON that has it as base64 in `audio`"],
      [{ audio: "no base64!" }, "audio", "Sound as base64"],
      [{ audio: Buffer.from("GIF89a").toString("base64") }, "audio", formats],
      [Buffer.concat([speech, Buffer.alloc(25_000_000)]), "body", "At most 25 MB of sound"],
      [Buffer.from("OggS and nothing"), "body", "The Ogg file has no sound in Opus."]
    ] as const) {
      const answer = await write(body, "", bare)
      expect([answer.status, answer.text.includes(message), answer.text.includes(path)], answer.text).toEqual([
        400,
        true,
        true
      ])
    }
    const wrong = await write({ audio: "!", language: "english", q: "x" }, "", bare)
    expect(wrong.body.data?.errors ?? wrong.body.errors ?? wrong.text).toBeDefined()
    for (const field of ["audio", "language", "q"]) expect(wrong.text).toContain(field)
    const before = await credits(bare)
    const answer = await write(speech, "", bare)
    expect(answer.status).toBe(409)
    expect(answer.body).toMatchObject({ code: "CONFLICT", data: { setting: "dowser models install --voice base" } })
    expect(await credits(bare)).toBe(before)
    const poor = await program.tenant("Poor voices")
    await send("PUT", "/ai/providers/transcriber", { kind: "deepgram", model: "nova", url: server.url }, poor)
    server.asked.length = 0
    expect((await write(speech, "", poor)).status).toBe(402)
    expect(server.asked).toEqual([])
  })
  it("requires a session with a search key", async () => {
    const asked = (headers: Record<string, string>) =>
      program.request("POST", "/v1/voice/transcriptions", { key: tenant.search_key, body: speech, headers })
    expect((await asked({})).status).toBe(400)
    expect((await asked(SESSION)).status).toBe(200)
  })
})

describe("a voice search", () => {
  it("finds what was said, with the parameters of a search, and reports what it heard", async () => {
    server.says = saying("Kitchen knife set,")
    const raw = await search(speech, "?query_by=title&per_page=1&include_fields=title")
    expect(raw.status, raw.text).toBe(200)
    expect(raw.body.hits.map(({ document }: any) => document)).toEqual([{ title: "Kitchen knife set" }])
    expect(raw.body.transcript).toEqual({
      text: "kitchen knife set",
      raw_text: "Kitchen knife set,",
      language: "en",
      model: "deepgram/nova"
    })
    expect([raw.body.request_params.q, typeof raw.body.query_id]).toEqual(["kitchen knife set", "string"])
    const filtered = await search({ audio: speech.toString("base64"), query_by: "title", filter_by: "price:>100" })
    expect(filtered.body.found).toBe(0)
  })
  it("corrects misheard words to words of the collection that sound alike", async () => {
    for (const [heard, text, title] of [
      ["Kitchen knife said.", "kitchen knife set", "Kitchen knife set"],
      ["Samson Television, 55 inches", "samsung television 55 inches", "Samsung television 55 inches"],
      ["Sans some television", "samsung television", "Samsung television 55 inches"],
      ["Wire less bluetooth head phones", "wireless bluetooth headphones", "Wireless bluetooth headphones"]
    ] as const) {
      server.says = saying(heard, 0.6)
      const { body } = await search(speech, "?query_by=title")
      expect([body.transcript.text, titles(body)[0], body.transcript.raw_text]).toEqual([text, title, heard])
    }
    // Words of high confidence stay, and so do words that nothing sounds like.
    server.says = saying("Samson", 0.99)
    expect((await search(speech, "?query_by=title")).body.transcript.text).toBe("samson")
    server.says = saying("quixotic umbrella", 0.3)
    expect((await search(speech, "?query_by=title")).body.transcript.text).toBe("quixotic umbrella")
    // A longer utterance is more than a query.
    server.says = saying("I said that the kitchen knife said", 0.6)
    expect((await search(speech, "?query_by=title")).body.transcript.text).toBe("i said that the kitchen knife said")
    // Words of the other organization are not used for this one.
    server.says = saying("Kitchen knife said.", 0.6)
    expect((await search(speech, "?query_by=title", other)).body.transcript.text).toBe("kitchen knife said")
  })
  it("puts no word into a query that its key does not see", async () => {
    server.says = saying("Zansibar lanterns", 0.5)
    expect((await search(speech, "?query_by=title")).body.transcript.text).toBe("zanzibar lantern")
    const hiding = securedKey(tenant.search_key, { filter_by: "seller:=a" })
    const hidden = await search(speech, "?query_by=title", tenant, hiding)
    expect([hidden.status, hidden.body.transcript?.text], hidden.text).toEqual([200, "zansibar lanterns"])
    server.says = saying("Blue tooth headphones", 0.5)
    expect((await search(speech, "?query_by=title", tenant, hiding)).body.transcript.text).toBe("bluetooth headphones")
  })
  it("cannot be turned into another search by what is said", async () => {
    server.says = saying('-television "samsung" *', 0.9)
    const { body } = await search(speech, "?query_by=title")
    expect([body.transcript.text, titles(body)[0]]).toEqual(["television samsung", "Samsung television 55 inches"])
  })
  it("finds nothing and charges no search if nothing was understood", async () => {
    const before = await credits(tenant)
    for (const body of [speech, Buffer.from(QUIET, "base64")]) {
      const answer = await search(body, "?query_by=title&per_page=7")
      expect(answer.status, answer.text).toBe(200)
      expect(answer.body).toMatchObject({
        found: 0,
        hits: [],
        request_params: { q: "", per_page: 7, collection_name: "goods" },
        transcript: { text: "", raw_text: "" }
      })
      // Only an executed search is accounted for and has one.
      expect(answer.body.query_id).toBe(undefined)
    }
    expect(before - (await credits(tenant))).toBeCloseTo(1, 5)
  })
  it("refuses text, unknown parameters and missing collections before anything is transcribed", async () => {
    const refused = await search({ audio: speech.toString("base64"), q: "lamp", voice_query: "x", nothing: 1 })
    expect(refused.status).toBe(400)
    for (const field of ["q", "voice_query", "nothing"]) expect(refused.text).toContain(field)
    const nowhere = await send("POST", "/collections/nowhere/documents/voice_search?query_by=title", speech)
    expect(nowhere.status).toBe(404)
    expect(server.asked).toEqual([])
    const before = await credits(tenant)
    server.says = saying("lamp")
    expect((await search(speech, "?query_by=nothing")).status).toBe(404)
    expect(await credits(tenant)).toBe(before)
  })
})

describe("a transcriber of an organization", () => {
  it("is called once before it is stored, shown without its credential, and removed again", async () => {
    const shown = await send("GET", "/ai/providers")
    expect(shown.body.transcriber).toEqual({ name: "deepgram/nova", embedded: false })
    expect((await send("GET", "/ai/providers", undefined, bare)).body.transcriber).toMatchObject({
      embedded: true,
      languages: ["en"]
    })
    server.misbehaves = (_, response) => {
      response.writeHead(401).end()
      return true
    }
    const put = (body: unknown) => send("PUT", "/ai/providers/transcriber", body, bare)
    const refused = await put({ kind: "openai", model: "whisper", url: server.url, api_key: "wrong-key" })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("refused the credential (401)")])
    server.misbehaves = undefined
    expect((await put({ kind: "tei", model: "x", url: server.url })).status).toBe(400)
    expect((await put({ kind: "openai", url: server.url })).status).toBe(400)
    expect((await put({ kind: "openai", model: "whisper", url: server.url, dimensions: 8 })).status).toBe(400)
    expect((await put({ kind: "openai", model: "whisper", url: server.url })).status).toBe(200)
    server.says = saying("mine")
    expect((await write(speech, "", bare)).body).toMatchObject({ text: "mine", model: "openai/whisper" })
    await send("DELETE", "/ai/providers/transcriber", undefined, bare)
    expect((await write(speech, "", bare)).status).toBe(409)
  })
})

describe("a spoken query of a search", () => {
  const spoken = speech.toString("base64")
  const many = (searches: ReadonlyArray<unknown>, owner = tenant, key = owner.full_key, headers = SESSION as any) =>
    program.request("POST", "/v1/multi_search", { key, body: { searches }, headers })

  it("replaces the query in collections that name the transcriber", async () => {
    const entry = { collection: "goods", query_by: "title", voice_query: spoken }
    const closed = await many([entry])
    expect(closed.body.results[0]).toMatchObject({
      code: 400,
      error: expect.stringMatching(/^Voice query is not enabled/)
    })
    expect(server.asked).toEqual([])
    for (const [model_name, status] of [
      ["dowser/nobody", 400],
      ["dowser/transcriber", 200]
    ] as const) {
      await send("DELETE", "/collections/spoken")
      const made = await send("POST", "/collections", {
        name: "spoken",
        fields: [{ name: "title", type: "string" }],
        voice_query_model: { model_name }
      })
      expect(made.status, made.text).toBe(201)
      await send("POST", "/collections/spoken/documents", { id: "3", title: "Kitchen knife set" })
      server.says = saying("Kitchen knife said.", 0.6)
      const answer = await many([
        { ...entry, collection: "spoken" },
        { collection: "goods", q: "television", query_by: "title" }
      ])
      expect(answer.status, answer.text).toBe(status)
      if (status === 400) expect(answer.text).toContain("`dowser/transcriber` is the one in use")
      else {
        const [first, second] = answer.body.results
        expect([titles(first), titles(second)]).toEqual([["Kitchen knife set"], ["Samsung television 55 inches"]])
        expect(first.request_params).toMatchObject({ voice_query: { transcribed_query: "kitchen knife set" } })
        expect(second.request_params.voice_query).toBe(undefined)
      }
    }
    const before = await credits(tenant)
    server.says = []
    const silent = await many([{ ...entry, collection: "spoken" }])
    expect(silent.body.results[0]).toMatchObject({
      found: 0,
      hits: [],
      request_params: { q: "", voice_query: { transcribed_query: "" } }
    })
    expect(before - (await credits(tenant))).toBeCloseTo(0.5, 5)
  })
  it("needs audio that can be decoded, a session with a search key, and is limited to five per request", async () => {
    const entry = { collection: "spoken", query_by: "title" }
    const wrong = await many([{ ...entry, voice_query: Buffer.from("no sound").toString("base64") }])
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining("wav, ogg (Opus)")])
    const six = await many(new Array(6).fill({ ...entry, voice_query: spoken }))
    expect(six.status).toBe(400)
    const unknown = await many([{ ...entry, voice_query: spoken }], tenant, tenant.search_key, {})
    expect(unknown.text).toContain("X-SVC-SESSION-ID")
    expect(server.asked).toEqual([])
    // A URL has room for a very short recording.
    const tiny = Buffer.from(writeWav(voiceLike(0.04, 0, 0.04, 8_000), 8_000)).toString("base64url")
    const one = await send("GET", `/collections/spoken/documents/search?query_by=title&voice_query=${tiny}`)
    expect(one.body).toMatchObject({ found: 0, request_params: { voice_query: { transcribed_query: "" } } })
  })
})
