/**
 * The live voice stream over real sockets: who is admitted, what is sent while somebody speaks, what it costs and when
 * it ends; two organizations side by side, with a transcription server on loopback.
 */
import { readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { RATE } from "../../src/ports/audio-decoder/audio-decoder.ts"
import { writeWav } from "../../src/ports/audio-decoder/wav.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { noiseOf, opusHeadOf, packetsOf, voiceLike, webmOf } from "../support/sound-files.ts"
import { saying, startTranscriberServer, type TranscriberServer } from "../support/transcriber-server.ts"
import { openVoice, type VoiceClient } from "../support/voice-client.ts"

let program: Program, tenant: Tenant, other: Tenant, bare: Tenant
let server: TranscriberServer
const PATH = "/v1/collections/goods/documents/search/voice_stream"
const wavOf = (samples: Float32Array): Buffer => {
  const random = noiseOf(3)
  return Buffer.from(
    writeWav(
      samples.map((sample) => sample + 0.0005 * random()),
      RATE
    )
  )
}
const pcmOf = (samples: Float32Array): Buffer => wavOf(samples).subarray(44)
const speech = pcmOf(voiceLike(2, 0.3, 1.7))
const START = { type: "start", params: { query_by: "title", encoding: "pcm_s16le", sample_rate: RATE } }

const send = (method: string, path: string, body?: unknown, owner = tenant) =>
  program.request(method, `/v1${path}`, { key: owner.full_key, body })
const connect = (query = "", headers: Readonly<Record<string, string>> = {}, path = PATH) =>
  openVoice(program.base, `${path}${query}`, headers)
const open = async (owner: Tenant = tenant, key = owner.full_key): Promise<VoiceClient> => {
  const opened = await connect(`?api_key=${encodeURIComponent(key)}&session_id=s1`)
  if ("status" in opened) throw new Error(`${opened.status} ${JSON.stringify(opened.body)}`)
  return opened
}
const credits = async (owner: Tenant): Promise<number> =>
  (await send("GET", "/entitlement", undefined, owner)).body.credits.balance as number
const settledCredits = async (owner: Tenant, expected: number): Promise<number> => {
  for (let i = 0; i < 50 && Math.abs((await credits(owner)) - expected) > 1e-6; i++) await setTimeout(100)
  return await credits(owner)
}
const titles = ({ results }: any): ReadonlyArray<string> => results.hits.map(({ document }: any) => document.title)

beforeAll(async () => {
  server = await startTranscriberServer()
  // No model is installed for this test, whatever this machine has.
  program = await startProgram({ allowPrivateAddresses: true, modelsFolder: join(tmpdir(), "dowser-no-models") })
  tenant = await program.tenant("Live voices")
  other = await program.tenant("Other live voices")
  bare = await program.tenant("Silent live voices")
  for (const owner of [tenant, other, bare]) {
    await program.topUp(owner.organization_id, 100)
    const fields = [
      { name: "title", type: "string" },
      { name: "price", type: "float" }
    ]
    expect((await send("POST", "/collections", { name: "goods", fields }, owner)).status).toBe(201)
  }
  for (const owner of [tenant, bare])
    for (const [id, title] of [
      ["1", "Wireless bluetooth headphones"],
      ["2", "Kitchen knife set"],
      ["3", "Kitchen scale"]
    ])
      await send("POST", "/collections/goods/documents", { id, title, price: Number(id) }, owner)
  await send("POST", "/collections/goods/documents", { id: "1", title: "Other kitchen", price: 1 }, other)
  for (const owner of [tenant, other]) {
    const provider = { kind: "openai", model: "words", url: server.url, api_key: "voice-secret-key" }
    expect((await send("PUT", "/ai/providers/transcriber", provider, owner)).status).toBe(200)
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

describe("before the upgrade", () => {
  it("keys, scopes, origins, sessions and collections are refused by their status", async () => {
    const key = `?api_key=${tenant.full_key}`
    expect(await connect()).toMatchObject({ status: 401 })
    expect(await connect("?api_key=nobodys")).toMatchObject({ status: 401 })
    expect(await connect(key, {}, PATH.replace("goods", "nowhere"))).toMatchObject({ status: 404 })
    expect(await connect(`?api_key=${tenant.search_key}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("SESSION") }
    })
    const made = await send("POST", "/keys", {
      description: "of one page",
      scope: "search",
      origins: ["https://shop.example"],
      collections: ["others"]
    })
    expect(made.status, made.text).toBe(201)
    const listed = `?session_id=s&api_key=${made.body.value}`
    expect(await connect(listed, { origin: "https://elsewhere.example" })).toMatchObject({ status: 403 })
    expect(await connect(listed, { origin: "https://shop.example" })).toMatchObject({ status: 403 })
    const plain = await program.request("GET", PATH, { key: tenant.full_key })
    expect([plain.status, plain.body.message]).toEqual([426, expect.stringContaining("WebSocket")])
  })
  it("a session has five, and another is admitted when one ends", async () => {
    const some = []
    for (let i = 0; i < 5; i++) some.push(await open(tenant, tenant.search_key))
    const query = `?api_key=${tenant.search_key}&session_id=s1`
    expect(await connect(query)).toMatchObject({ status: 429 })
    const others = await open(other, other.search_key)
    some[0]!.socket.terminate()
    let next = await connect(query)
    for (let i = 0; i < 50 && "status" in next; i++) {
      await setTimeout(50)
      next = await connect(query)
    }
    expect(next).not.toHaveProperty("status")
    for (const each of [...some, others, next as VoiceClient]) each.socket.terminate()
  })
})

it("a program that is stopping reports that it is going away", { timeout: 60_000 }, async () => {
  const going = await startProgram({ modelsFolder: join(tmpdir(), "dowser-no-models") })
  const owner = await going.tenant("Going")
  const fields = [{ name: "title", type: "string" }]
  await going.request("POST", "/v1/collections", { key: owner.full_key, body: { name: "goods", fields } })
  const client = (await openVoice(going.base, `${PATH}?api_key=${owner.full_key}`)) as VoiceClient
  client.send({ type: "start", params: { query_by: "title" } })
  client.send({ type: "ping" })
  await client.next("pong")
  await going.stop()
  expect((await client.closed).code).toBe(1001)
})

describe("words that the client sends", () => {
  it("are searched for as they change, without a transcriber and without credits", async () => {
    const before = await credits(bare)
    const client = await open(bare, bare.search_key)
    client.send({ type: "start", params: { query_by: "title" } })
    client.send({ type: "text", text: "kitchen" })
    expect(await client.next("transcript")).toEqual({ type: "transcript", text: "kitchen", is_final: false })
    expect(titles(await client.next("results")).toSorted()).toEqual(["Kitchen knife set", "Kitchen scale"])
    client.send({ type: "text", text: "kitchen knife", is_final: true })
    expect(await client.next("transcript")).toEqual({ type: "transcript", text: "kitchen knife", is_final: true })
    client.send({ type: "ping" })
    await client.next("pong")
    client.send({ type: "stop" })
    const final = await client.next("final")
    expect(final.transcript).toEqual({
      text: "kitchen knife",
      raw_text: "kitchen knife",
      language: "und",
      model: "client"
    })
    expect(titles(final)[0]).toBe("Kitchen knife set")
    expect(await client.closed).toEqual({ code: 1000, reason: "final" })
    expect(await credits(bare)).toBe(before)
    expect(server.asked).toEqual([])
  })
  it("end by themselves after a pause, and see only one organization", async () => {
    const client = await open(other)
    client.send({ type: "start", params: { query_by: "title" } })
    client.send({ type: "text", text: "Kitchen", is_final: true })
    expect(titles(await client.next("final"))).toEqual(["Other kitchen"])
    expect((await client.closed).code).toBe(1000)
  })
})

describe("sound", () => {
  it("is transcribed as it arrives, searched for, and answered at the end; half a credit pays 15 seconds", async () => {
    const before = await credits(tenant)
    server.says = saying("Kitchen knife set.")
    const client = await open()
    client.send(START)
    await client.speak(speech, 20)
    const first = client.frames.find(({ type }) => type === "transcript")
    expect(first).toMatchObject({ text: "Kitchen knife set.", is_final: false })
    expect(titles(await client.next("results"))[0]).toBe("Kitchen knife set")
    client.send({ type: "stop" })
    const final = await client.next("final")
    expect(final).toMatchObject({
      transcript: { text: "kitchen knife set", raw_text: "Kitchen knife set.", model: "openai/words" }
    })
    expect(titles(final)[0]).toBe("Kitchen knife set")
    expect(client.frames.filter(({ type }) => type === "transcript").at(-1).is_final).toBe(true)
    expect((await client.closed).code).toBe(1000)
    expect(await settledCredits(tenant, before - 0.5)).toBeCloseTo(before - 0.5, 5)
  })
  it("may be WAV without a declaration, and ends after 1.5 seconds of silence", async () => {
    server.says = saying("kitchen scale")
    const client = await open()
    client.send({ type: "start", params: { query_by: "title" } })
    await client.speak(wavOf(voiceLike(4, 0.3, 1.7)))
    expect(titles(await client.next("final"))[0]).toBe("Kitchen scale")
    expect((await client.closed).code).toBe(1000)
  })
  it("may be Opus, in Ogg or in WebM, as it arrives", async () => {
    const ogg = readFileSync(new URL("../../fixtures/speech/kitchen-knife-set.ogg", import.meta.url))
    for (const bytes of [ogg, webmOf(packetsOf(ogg), opusHeadOf(1, 312))]) {
      server.says = saying("kitchen knife set")
      server.asked.length = 0
      const client = await open()
      client.send({ type: "start", params: { query_by: "title", encoding: "opus" } })
      for (let at = 0; at < bytes.length; at += 301) client.send(new Uint8Array(bytes.subarray(at, at + 301)))
      client.send({ type: "stop" })
      expect(titles(await client.next("final"))[0]).toBe("Kitchen knife set")
      expect(server.asked.length).toBeGreaterThan(0)
    }
    const broken = await open()
    broken.send({ type: "start", params: { query_by: "title" } })
    broken.send(new Uint8Array([...ogg.subarray(0, 47), ...new Uint8Array(200)]))
    expect(await broken.next("error")).toMatchObject({ status: 400 })
    expect((await broken.closed).code).toBe(4400)
  })
  it("without speech calls no model and searches for nothing", async () => {
    const client = await open()
    client.send(START)
    await client.speak(pcmOf(new Float32Array(RATE)))
    client.send({ type: "stop" })
    expect(await client.next("final")).toMatchObject({ transcript: { text: "" }, results: { found: 0, hits: [] } })
    expect(server.asked).toEqual([])
  })
  it("without a transcriber is a 409 that names the command, costs nothing, and words continue to work", async () => {
    const before = await credits(bare)
    const client = await open(bare)
    client.send(START)
    await client.speak(speech)
    expect(await client.next("error")).toMatchObject({
      status: 409,
      code: "CONFLICT",
      data: { setting: "dowser models install --voice base" }
    })
    client.send({ type: "text", text: "scale", is_final: true })
    client.send({ type: "stop" })
    expect(titles(await client.next("final"))).toEqual(["Kitchen scale"])
    expect(client.frames.filter(({ type }) => type === "error")).toHaveLength(1)
    expect(await credits(bare)).toBe(before)
  })
  it("is refunded if the transcriber fails", async () => {
    const before = await credits(tenant)
    server.misbehaves = (_, response) => {
      response.writeHead(400).end("no")
      return true
    }
    const client = await open()
    client.send(START)
    await client.speak(speech)
    client.send({ type: "stop" })
    expect(await client.next("error")).toMatchObject({ message: expect.stringContaining("openai/words") })
    expect((await client.closed).code).toBe(1011)
    expect(await settledCredits(tenant, before)).toBe(before)
  })
})

describe("a stream closes", () => {
  const closing = async (frames: ReadonlyArray<unknown>, owner = tenant) => {
    const client = await open(owner)
    for (const frame of frames) client.send(frame)
    return { ...(await client.closed), error: client.frames.find(({ type }) => type === "error") }
  }
  it("with 4400 for an invalid frame, one out of order, or one that cannot be searched for", async () => {
    for (const frames of [
      ["{"],
      [{ type: "dance" }],
      [{ type: "stop" }],
      [Buffer.alloc(320)],
      [START, START],
      [{ type: "start", params: { q: "words" } }],
      [{ type: "start", params: { encoding: "mp3" } }],
      [{ type: "start", params: { sample_rate: 1 } }],
      [{ type: "start", params: { query_by: "title" } }, Buffer.from("no sound at all")],
      [START, { type: "text", text: 5 }],
      [
        { type: "start", params: { query_by: "nothing" } },
        { type: "text", text: "kitchen" }
      ]
    ]) {
      const { code, error } = await closing(frames)
      expect([code, error?.message], JSON.stringify(frames)).toEqual([4400, expect.any(String)])
    }
  })
  it("with 4402 if credits do not cover it, and with 4401 when its key is revoked", async () => {
    const poor = await program.tenant("Poor voices")
    const fields = [{ name: "title", type: "string" }]
    await send("POST", "/collections", { name: "goods", fields }, poor)
    const provider = { kind: "openai", model: "words", url: server.url }
    await send("PUT", "/ai/providers/transcriber", provider, poor)
    const client = await open(poor)
    client.send(START)
    await client.speak(speech)
    expect(await client.closed).toMatchObject({ code: 4402, reason: "CreditsExhausted" })
    const made = await send("POST", "/keys", { description: "short-lived", scope: "search", collections: ["*"] })
    const held = await open(tenant, made.body.value)
    held.send(START)
    expect((await send("DELETE", `/keys/${made.body.id}`)).status).toBeLessThan(300)
    const began = performance.now()
    expect((await held.closed).code).toBe(4401)
    expect(performance.now() - began).toBeLessThan(8_000)
  })
  it("with 4401 when its key expires during the stream", async () => {
    const expires_at = Math.floor(Date.now() / 1_000) + 4
    const given = { description: "of a moment", scope: "search", collections: ["*"], expires_at }
    const made = await send("POST", "/keys", given)
    expect(made.status, made.text).toBe(201)
    const held = await open(tenant, made.body.value)
    held.send(START)
    const { code } = await held.closed
    expect([code, Date.now() >= 1_000 * expires_at]).toEqual([4401, true])
  })
  it("with 4401 when its organization is paused", async () => {
    const paused = await program.tenant("Paused voices")
    const fields = [{ name: "title", type: "string" }]
    await send("POST", "/collections", { name: "goods", fields }, paused)
    const held = await open(paused)
    held.send(START)
    const headers = { authorization: `Bearer ${program.operatorToken}` }
    const at = `/console/v1/organizations/${paused.organization_id}/pause`
    expect((await program.request("POST", at, { headers, body: { reason: "manual" } })).status).toBe(200)
    expect((await held.closed).code).toBe(4401)
    expect(held.frames.at(-1)).toMatchObject({ type: "error", status: 402 })
  })
  it("with 4408 after 15 seconds without a frame, which a ping is", { timeout: 60_000 }, async () => {
    const [idle, kept] = [await open(), await open(other)]
    for (const client of [idle, kept]) client.send(START)
    const began = performance.now()
    await setTimeout(8_000)
    kept.send({ type: "ping" })
    expect((await idle.closed).code).toBe(4408)
    expect(performance.now() - began).toBeGreaterThan(14_500)
    await setTimeout(2_000)
    expect(kept.socket.readyState).toBe(kept.socket.OPEN)
    kept.socket.terminate()
  })
  it("with 4413 beyond five minutes of audio, which is accepted no faster than real time", async () => {
    const client = await open()
    client.send({ ...START, params: { ...START.params, sample_rate: 8_000 } })
    for (let i = 0; i < 20; i++) client.send(new Uint8Array(300_000))
    expect((await client.closed).code).toBe(4413)
    const large = await open()
    large.send(new Uint8Array(1_500_000))
    expect((await large.closed).code).toBe(1009)
  })
  it("for a reason of the client's, whatever it is sent", { timeout: 120_000 }, async () => {
    const random = makeRandom("voice frames")
    const params = [
      { query_by: "title" },
      { query_by: "title", encoding: "opus" },
      { query_by: "title", sample_rate: 48_000 },
      { query_by: "title", filter_by: "price:>" },
      { __proto__: 1, q: {} },
      [],
      "x"
    ]
    const ogg = readFileSync(new URL("../../fixtures/speech/kitchen-knife-set.ogg", import.meta.url))
    const bytes = () => {
      const from = random.below(ogg.length)
      const some = new Uint8Array(ogg.subarray(random.below(2) * from, from + random.below(2_000)))
      if (random.below(2) === 0) for (let i = 0; i < some.length; i += 7) some[i] = random.below(256)
      return some
    }
    const frame = () =>
      [
        () => ({ type: "start", params: params[random.below(params.length)] }),
        () => ({ type: "text", text: ["kitchen", "\u0000\ud800", '-x "y', "a".repeat(1_999)][random.below(4)] }),
        bytes,
        bytes,
        () => ({ type: "ping", more: [[[]]] }),
        () => Buffer.from("no frame"),
        () => [null, 5, "text", { type: null }][random.below(4)]
      ][random.below(7)]!()
    const codes = new Map<number, number>()
    for (let i = 0; i < 80; i++) {
      const client = await open(i % 2 === 0 ? tenant : bare)
      if (i % 4 < 3) client.send({ type: "start", params: params[random.below(4)] })
      for (let left = random.below(5); left > 0 && client.socket.readyState === client.socket.OPEN; left--)
        client.send(frame())
      if (client.socket.readyState === client.socket.OPEN) client.send({ type: "stop" })
      const { code } = await client.closed
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
    expect([...codes.keys()].toSorted()).toEqual([1000, 4400])
    const fine = await open()
    fine.send({ type: "start", params: { query_by: "title" } })
    fine.send({ type: "text", text: "kitchen" })
    fine.send({ type: "stop" })
    expect((await fine.next("final")).results.found).toBe(2)
  })
  it("and keeps nothing of a client that disconnected without closing", async () => {
    const client = await open()
    client.send(START)
    await client.speak(speech.subarray(0, 32_000))
    client.socket.terminate()
    const next = await open()
    next.send(START)
    next.send({ type: "stop" })
    expect((await next.next("final")).results.found).toBe(0)
  })
})
