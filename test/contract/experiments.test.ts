/**
 * Experiments over HTTP, from the draft to the rollback: which visitors see what, what is refused, what is promoted and
 * restored. Two organizations side by side.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { seedsOf, variantOf } from "@dowser/engine-sdk/experiments"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually, type Receiver, startReceiver } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant, receiver: Receiver
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, body })
const made = async (body: object, key = tenant.full_key): Promise<string> => {
  const answer = await send("POST", "/v1/experiments", body, key)
  expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ status: "draft", run: 0 })])
  return answer.body.id
}
const act = (id: string, what: string, body?: object, key = tenant.full_key) =>
  send("POST", `/v1/experiments/${id}/${what}`, body, key)
const done = async (id: string, what: string, body?: object) => {
  const answer = await act(id, what, body)
  expect([what, answer.status, answer.text]).toEqual([what, 200, expect.any(String)])
  return answer.body
}
const plan = (name: string) =>
  program.request("POST", `/console/v1/organizations/${tenant.organization_id}/plan`, {
    headers: { authorization: `Bearer ${program.operatorToken}` },
    body: { plan: name }
  })
const search = async (query: string, session?: string, key = tenant.full_key) => {
  const answer = await program.request("GET", `/v1/collections/goods/documents/search?query_by=title&${query}`, {
    headers: { "x-svc-api-key": key, ...(session === undefined ? {} : { "x-svc-session-id": session }) }
  })
  expect([query, answer.status, answer.text]).toEqual([query, 200, expect.any(String)])
  return answer.body
}
const titles = (answer: { hits: ReadonlyArray<{ document: { title: string } }> }) =>
  answer.hits.map(({ document }) => document.title)

const sorted = {
  name: "Cheap first",
  collection: "goods",
  metric: "ctr",
  variants: [{ id: "as_is" }, { id: "cheap", params: { sort_by: "price:asc" } }]
}

beforeAll(async () => {
  program = await sharedProgram({ allowPrivateAddresses: true })
  receiver = await startReceiver()
  tenant = await program.tenant("Trying")
  other = await program.tenant("Beside")
  for (const { full_key } of [tenant, other]) {
    const fields = [
      { name: "title", type: "string" },
      { name: "brand", type: "string", facet: true },
      { name: "price", type: "float" }
    ]
    await send("POST", "/v1/collections", { name: "goods", fields }, full_key)
    const goods = [3, 1, 2].map((price) =>
      JSON.stringify({ id: `g${price}`, title: `lamp ${price}`, brand: "b", price })
    )
    await send("POST", "/v1/collections/goods/documents/import", goods.join("\n"), full_key)
    await send("PUT", "/v1/presets/listing", { value: { query_by: "title", sort_by: "price:desc" } }, full_key)
    for (const name of ["listing", "narrow"])
      await send(
        "POST",
        "/v1/collections/goods/search-profiles",
        {
          name,
          searchable_fields: ["title"],
          facet_fields: [{ field: "brand", label: "Marke" }],
          ...(name === "narrow" ? { fixed_filter_by: "price:<2" } : {})
        },
        full_key
      )
  }
  await send("PUT", "/v1/aliases/shop", { collection_name: "goods" })
  await send("POST", "/v1/webhooks", { name: "w", url: receiver.url, events: ["*"] })
})
afterEach(async () => {
  for (const { id, status } of (await send("GET", "/v1/experiments?limit=100")).body.data)
    if (status === "running") await act(id, "stop")
})
afterAll(async () => {
  await program.stop()
  await receiver.stop()
})

describe("an experiment", () => {
  it("shows each session one variant, computable offline, and reports it; anonymous callers take no part", async () => {
    const id = await made({ ...sorted, collection: "shop" })
    expect((await search("q=lamp", "s1")).experiment).toBeUndefined()
    expect(await done(id, "start")).toMatchObject({ status: "running", run: 1, collection: "goods", stopped_at: null })
    const seen = new Set<string>()
    for (let i = 0; i < 24; i++) {
      const index = variantOf({ seeds: seedsOf(id, 1), traffic: 1, weights: [1, 1] }, `s${i}`)!
      for (const name of ["goods", "shop"]) {
        const answer = (
          await program.request("GET", `/v1/collections/${name}/documents/search?q=lamp&query_by=title`, {
            headers: { "x-svc-api-key": tenant.search_key, "x-svc-session-id": `s${i}` }
          })
        ).body
        expect(answer.experiment).toEqual({ id, variant_id: ["as_is", "cheap"][index] })
        if (index === 1) expect(titles(answer)).toEqual(["lamp 1", "lamp 2", "lamp 3"])
        seen.add(answer.experiment.variant_id)
      }
    }
    expect([...seen].sort()).toEqual(["as_is", "cheap"])
    expect((await search("q=lamp")).experiment).toBeUndefined()
    expect((await search("q=lamp", "s1", other.full_key)).experiment).toBeUndefined()
    // The same id as an anonymous visitor's is the same unit.
    const [as, session] = [await search("q=lamp&x_anonymous_id=s3"), await search("q=lamp", "s3")]
    expect(as.experiment).toEqual(session.experiment)
    // A merged list belongs to no variant; entries of their own each take part.
    const body = { searches: [{ collection: "goods", q: "lamp", query_by: "title", x_anonymous_id: "s1" }] }
    const [results, union] = [
      (await send("POST", "/v1/multi_search", body)).body,
      (await send("POST", "/v1/multi_search", { ...body, union: true })).body
    ]
    expect([results.results[0].experiment?.id, union.experiment]).toEqual([id, undefined])
    await done(id, "stop")
    expect((await search("q=lamp", "s1")).experiment).toBeUndefined()
  })

  it("caches answers separately by variant, and lets a full key see any of them", async () => {
    const id = await made(sorted)
    await done(id, "start")
    // Assignment depends on the experiment's id: with a handful of sessions, all may fall into one variant.
    const candidates = Array.from({ length: 100 }, (_, one) => `session-${one}`)
    const sessions = ["control", "variant"].map((_, index) =>
      candidates.find((one) => variantOf({ seeds: seedsOf(id, 1), traffic: 1, weights: [1, 1] }, one) === index)!
    )
    for (let again = 0; again < 2; again++)
      for (const [index, session] of sessions.entries())
        expect((await search("q=lamp&sort_by=price:desc&use_cache=true", session)).experiment.variant_id).toBe(
          ["as_is", "cheap"][index]
        )
    const forced = "q=lamp&sort_by=price:desc&x_experiment_variant=cheap"
    expect(titles(await search(`${forced}&debug=true`))).toEqual(["lamp 1", "lamp 2", "lamp 3"])
    expect((await search(`${forced}&debug=true`, undefined, tenant.search_key)).experiment).toBeUndefined()
    expect((await search(forced)).experiment).toBeUndefined()
    const unknown = await send(
      "GET",
      "/v1/collections/goods/documents/search?q=lamp&query_by=title&debug=true&x_experiment_variant=blue"
    )
    expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining("blue")])
    await done(id, "stop")
  })

  it("is refused by name: invalid, running, beyond the plan, or another organization's", async () => {
    const wrong = await send("POST", "/v1/experiments", {
      name: " ",
      collection: "goods",
      metric: "joy",
      traffic: 2,
      min_sample: 0.5,
      unit: "cat",
      target: { preset: "listing", profile: "x" },
      winner: true,
      variants: [{ id: "a b" }, { id: "x", weight: 0, params: { q: "x", filter_by: "y", nonsense: 1 }, rules: {} }]
    })
    expect(wrong.status).toBe(400)
    const issues = wrong.body.data.issues
    expect(issues.map(({ path }: { path: string }) => path).sort()).toEqual(
      [
        "metric",
        "min_sample",
        "name",
        "target",
        "traffic",
        "unit",
        "variants[0].id",
        "variants[1]",
        "variants[1].params.filter_by",
        "variants[1].params.nonsense",
        "variants[1].params.q",
        "variants[1].weight",
        "winner"
      ].sort()
    )
    const ofCollection = await send("POST", "/v1/experiments", {
      ...sorted,
      target: { profile: "nobody" },
      variants: [
        { id: "a", params: { sort_by: "nothing:asc" } },
        { id: "b", profile: "no" },
        { id: "c", rules: { pins: 3 } }
      ]
    })
    expect(ofCollection.status).toBe(400)
    const at = ofCollection.body.data.issues.map(({ path }: { path: string }) => path)
    expect(at).toEqual(expect.arrayContaining(["target.profile", "variants[1].profile"]))
    expect(at.some((path: string) => path.startsWith("variants[2].rules"))).toBe(true)
    expect((await send("POST", "/v1/experiments", { ...sorted, collection: "nowhere" })).status).toBe(404)

    const [one, two, third] = [
      await made(sorted),
      await made(sorted),
      await made({ ...sorted, target: { preset: "listing" } })
    ]
    expect((await act(one, "stop")).status).toBe(409)
    expect((await act(one, "rollback")).status).toBe(409)
    expect((await act(one, "promote", { variant_id: "cheap" })).status).toBe(409)
    expect((await send("GET", `/v1/experiments/${one}/results`)).status).toBe(409)
    await done(one, "start")
    expect((await act(one, "start")).status).toBe(409)
    const taken = await act(two, "start")
    expect([taken.status, taken.text]).toEqual([409, expect.stringContaining(one)])
    await plan("free")
    const full = await act(third, "start")
    await plan("unlimited")
    expect([full.status, full.text]).toEqual([403, expect.stringContaining("experiments_running")])
    expect((await send("PUT", `/v1/experiments/${one}`, sorted)).status).toBe(409)
    expect((await send("DELETE", `/v1/experiments/${one}`)).status).toBe(409)
    expect((await act(one, "promote", { variant_id: "blue" })).status).toBe(400)
    for (const [method, path] of [
      ["GET", ""],
      ["PUT", ""],
      ["DELETE", ""],
      ["POST", "/start"],
      ["POST", "/stop"],
      ["POST", "/promote"],
      ["POST", "/rollback"],
      ["GET", "/results"]
    ] as const)
      expect([
        method + path,
        (
          await send(
            method,
            `/v1/experiments/${one}${path}`,
            method === "GET" || method === "DELETE" ? undefined : method === "PUT" ? sorted : { variant_id: "cheap" },
            other.full_key
          )
        ).status
      ]).toEqual([method + path, 404])
    expect((await send("GET", "/v1/experiments", undefined, other.full_key)).body.data).toEqual([])
    // A preset affects all collections: a key of one must not change it by promoting.
    const narrow = (await send("POST", "/v1/keys", { description: "n", scope: "full", collections: ["goods"] })).body
    expect(
      (await send("POST", "/v1/experiments", { ...sorted, target: { preset: "listing" } }, narrow.value)).status
    ).toBe(403)
    expect((await act(third, "promote", { variant_id: "cheap" }, narrow.value)).status).toBe(403)
    // There is no place to write to: the experiment continues.
    expect((await act(one, "promote", { variant_id: "cheap" })).status).toBe(409)
    expect((await act(one, "promote", { variant_id: "as_is" })).status).toBe(409)
    expect((await send("GET", `/v1/experiments/${one}`)).body.status).toBe("running")
    await done(one, "stop")
    const edited = await send("PUT", `/v1/experiments/${one}`, {
      ...(await send("GET", `/v1/experiments/${one}`)).body,
      traffic: 0.5
    })
    expect([edited.status, edited.body.traffic]).toEqual([200, 0.5])
    expect(await done(one, "start")).toMatchObject({ run: 2, status: "running" })
    await done(one, "stop")
    for (const id of [one, two, third]) expect((await send("DELETE", `/v1/experiments/${id}`)).status).toBe(200)
  })

  it("sends events when it starts, stops and is promoted", async () => {
    const id = await made({ ...sorted, target: { preset: "listing" } })
    await done(id, "start")
    await done(id, "promote", { variant_id: "cheap" })
    const of = () =>
      receiver.received.filter(({ json }) => json.data.experiment_id === id).map(({ json }) => [json.event, json.data])
    await eventually("three events came", async () => (of().length >= 3 ? true : undefined))
    expect(Object.fromEntries(of())).toEqual({
      "experiment.started": { experiment_id: id, collection: "goods" },
      "experiment.stopped": { experiment_id: id, collection: "goods" },
      "experiment.promoted": { experiment_id: id, variant_id: "cheap" }
    })
    await done(id, "rollback")
  })
})

describe("a promotion", () => {
  const running = async (body: object) => {
    const id = await made({ ...sorted, ...body })
    await done(id, "start")
    return id
  }
  it("merges parameters into the target's preset, and the rollback restores it byte for byte", async () => {
    const read = async () => (await send("GET", "/v1/presets/listing")).text
    const before = await read()
    const id = await running({ target: { preset: "listing" } })
    expect((await search("q=lamp&x_anonymous_id=s1")).experiment).toBeUndefined()
    expect((await search("q=lamp&preset=listing", "s1")).experiment.id).toBe(id)
    expect(await done(id, "promote", { variant_id: "cheap" })).toMatchObject({
      status: "promoted",
      promoted_variant_id: "cheap"
    })
    expect(titles(await search("q=lamp&preset=listing", "s1"))).toEqual(["lamp 1", "lamp 2", "lamp 3"])
    expect((await act(id, "promote", { variant_id: "cheap" })).status).toBe(409)
    expect((await act(id, "start")).status).toBe(409)
    const promoted = JSON.parse(await read())
    await send("PUT", "/v1/presets/listing", { value: { ...promoted.value, per_page: 5 } })
    const changed = await act(id, "rollback")
    expect([changed.status, changed.text]).toEqual([409, expect.stringContaining("listing")])
    await send("PUT", "/v1/presets/listing", { value: promoted.value })
    expect((await done(id, "rollback")).status).toBe("rolled_back")
    expect(await read()).toBe(before)
    expect((await act(id, "rollback")).status).toBe(409)
  })
  it("replaces the collection's rules, and restores the earlier ones, or none", async () => {
    const path = "/v1/collections/goods/search_rules"
    const shape = await send("PUT", path, { redirects: [{ query: "x", url: "/x" }] })
    expect(shape.status).toBe(200)
    const withRules = {
      variants: [{ id: "as_is" }, { id: "ruled", rules: { redirects: [{ query: "lamp", url: "/lamps" }] } }]
    }
    for (const isThere of [true, false]) {
      if (!isThere) await send("DELETE", path)
      const { updated_at: _, ...before } = (await send("GET", path)).body
      const id = await running(withRules)
      const shown = await search("q=lamp&debug=true&x_experiment_variant=ruled")
      expect(shown.redirect).toEqual({ url: "/lamps" })
      await done(id, "promote", { variant_id: "ruled" })
      expect((await search("q=lamp")).redirect).toEqual({ url: "/lamps" })
      await done(id, "rollback")
      const { updated_at: __, ...after } = (await send("GET", path)).body
      expect(after).toEqual(before)
      expect((await search("q=lamp")).redirect).toBeUndefined()
    }
  })
  it("makes a release of the target's profile: from a profile, or parameters that a profile can express", async () => {
    const path = "/v1/collections/goods/search-profiles/listing"
    const before = (await send("GET", path)).text
    const other_profile = await running({
      target: { profile: "listing" },
      variants: [{ id: "as_is" }, { id: "narrow", profile: "narrow" }]
    })
    const asked = "/v1/collections/goods/documents/search?q=lamp&profile=listing&debug=true&x_experiment_variant=narrow"
    const shown = (await send("GET", asked)).body
    expect([shown.found, shown.profile.name, shown.experiment.variant_id]).toEqual([1, "narrow", "narrow"])
    await done(other_profile, "promote", { variant_id: "narrow" })
    const found = async () =>
      (await send("GET", "/v1/collections/goods/documents/search?q=lamp&profile=listing")).body.found
    expect(await found()).toBe(1)
    await done(other_profile, "rollback")
    expect(await found()).toBe(3)
    const { updated_at: _, ...restored } = (await send("GET", path)).body
    const { updated_at: __, ...original } = JSON.parse(before)
    expect(restored).toEqual(original)

    const said = await running({
      target: { profile: "listing" },
      variants: [
        { id: "as_is" },
        { id: "typos", params: { num_typos: 1 } },
        { id: "brands", params: { query_by: "title,brand" } }
      ]
    })
    const unsaid = await act(said, "promote", { variant_id: "typos" })
    expect([unsaid.status, unsaid.text]).toEqual([409, expect.stringContaining("num_typos")])
    await done(said, "promote", { variant_id: "brands" })
    const releases = (await send("GET", `${path}/releases`)).body.releases
    expect(releases[0].manifest).toMatchObject({
      searchable_fields: ["title", "brand"],
      facet_fields: [{ field: "brand", label: "Marke" }]
    })
    // A concurrent edit of the draft changes its revision.
    await send("PUT", path, { searchable_fields: ["title"] })
    expect((await act(said, "rollback")).status).toBe(409)
  })
})

describe("two rankings in one list", () => {
  const first = (doc_id: string) => ({ pins: [{ query: "lamp", doc_id, position: 1 }] })
  const merged = (over: object = {}) => ({
    name: "Which ranking",
    collection: "goods",
    mode: "interleave",
    metric: "ctr",
    min_sample: 1,
    minimum_days: 0,
    variants: [
      { id: "one", rules: first("g1") },
      { id: "two", rules: first("g2") }
    ],
    ...over
  })
  it("takes exactly two, which are rules or profiles: 400 names anything else", async () => {
    const wrong = await send("POST", "/v1/experiments", {
      ...merged({ mode: "interleave", metric: "revenue_per_search" }),
      variants: [{ id: "a" }, { id: "b", params: { num_typos: 1 } }, { id: "interleaved", profile: "narrow" }]
    })
    expect(wrong.status).toBe(400)
    expect(wrong.body.data.issues.map(({ path }: { path: string }) => path).sort()).toEqual(
      ["metric", "variants", "variants[1].params", "variants[2].id"].sort()
    )
    const unknown = await send("POST", "/v1/experiments", merged({ mode: "mixed" }))
    expect(unknown.body.data.issues.map(({ path }: { path: string }) => path)).toEqual(["mode"])
  })
  it("mixes both for each search, alike for a returning visitor; clicks vote; others see nothing of it", async () => {
    const id = await made(merged())
    const theirs = await made(merged({ metric: "conversion_rate" }), other.full_key)
    expect((await send("GET", `/v1/experiments/${id}`)).body).toMatchObject({ mode: "interleave" })
    await done(id, "start")
    await act(theirs, "start", undefined, other.full_key)
    const ids = (answer: any) => answer.hits.map(({ document }: { document: { id: string } }) => document.id)
    const firsts = new Set<string>()
    const clicks: Array<object> = []
    for (let i = 0; i < 24; i++) {
      const answer = await search("q=lamp", `i${i}`)
      expect([answer.experiment, answer.found]).toEqual([{ id, variant_id: "interleaved" }, 3])
      expect(ids(answer).toSorted()).toEqual(["g1", "g2", "g3"])
      // Both variants pinned one of the first two; a random bit of the visitor decides whose is first.
      expect(ids(answer).slice(0, 2).toSorted()).toEqual(["g1", "g2"])
      expect(ids(await search("q=lamp", `i${i}`))).toEqual(ids(answer))
      expect(ids(await search("q=lamp&use_cache=true", `i${i}`))).toEqual(ids(answer))
      firsts.add(ids(answer)[0])
      // Twelve visitors click the second ranking's document, six the first's, three both, and the rest nothing.
      const taken = i < 12 ? ["g2"] : i < 18 ? ["g1"] : i < 21 ? ["g1", "g2"] : []
      for (const document_id of taken)
        clicks.push({ type: "click", collection: "goods", document_id, query_id: answer.query_id, session_id: `i${i}` })
    }
    expect([...firsts].sort()).toEqual(["g1", "g2"])
    // Pages that are not merged are the control's, and count for no variant.
    for (const query of ["q=lamp&page=2&per_page=1", "q=lamp&group_by=brand", "q=lamp&exclude_fields=id"])
      expect((await search(query, "leafing")).experiment).toEqual({ id, variant_id: "one" })
    expect((await search("q=lamp")).experiment).toBeUndefined()
    const forced = await search("q=lamp&debug=true&x_experiment_variant=two")
    expect([forced.experiment.variant_id, ids(forced)[0]]).toEqual(["two", "g2"])
    await send("POST", "/v1/events", { events: clicks })
    const results = await eventually("everything is counted", async () => {
      const { body } = await send("GET", `/v1/experiments/${id}/results`)
      return body.interleaving.wins + body.interleaving.losses + body.interleaving.ties === 21 ? body : undefined
    })
    expect(results).toMatchObject({ units: 24, interleaving: { wins: 12, losses: 6, ties: 3 }, guardrails: [] })
    // 72 answers with lists of both, and none of the control's.
    expect(results.variants.map(({ exposures }: any) => exposures)).toEqual([72, 0])
    const { body } = await send("GET", `/v1/experiments/${theirs}/results`, undefined, other.full_key)
    expect(body).toMatchObject({ units: 0, interleaving: { wins: 0, losses: 0, ties: 0, p_value: 1 } })
    await done(id, "stop")
    await act(theirs, "stop", undefined, other.full_key)
  })
})

describe("the results", () => {
  it("count what each session did, and are deleted with the collection", async () => {
    const id = await made(sorted)
    await done(id, "start")
    const clicks: Array<object> = []
    const expected = [0, 0]
    for (let i = 0; i < 20; i++) {
      const { experiment, query_id } = await search("q=lamp&x_device=mobile", `r${i}`)
      const index = experiment.variant_id === "as_is" ? 0 : 1
      if (i % 3 !== 0) continue
      expected[index]!++
      clicks.push({ type: "click", collection: "goods", document_id: "g1", query_id, session_id: `r${i}` })
    }
    await send("POST", "/v1/events", { events: clicks })
    const results = await eventually("everything is counted", async () => {
      const { body } = await send("GET", `/v1/experiments/${id}/results`)
      const counted = body.variants.map(({ mean, searches }: { mean: number; searches: number }) =>
        Math.round(mean * searches)
      )
      return body.units === 20 && String(counted) === String(expected) ? body : undefined
    })
    expect(results).toMatchObject({
      state: "collecting",
      multiple_exposure_share: 0,
      srm: { ok: true },
      winner_variant_id: null
    })
    expect(
      results.variants.map(({ exposures }: { exposures: number }) => exposures).reduce((a: number, b: number) => a + b)
    ).toBe(20)
    expect(results.daily).toHaveLength(1)
    expect(results.guardrails.map(({ metric, ok }: { metric: string; ok: boolean }) => [metric, ok])).toEqual([
      ["zero_result_rate", true],
      ["latency_p95", true]
    ])
    for (const { cuped, latency_p95_ms } of results.variants) {
      expect(latency_p95_ms).toBeGreaterThan(0)
      expect(cuped).toBeNull()
    }
    const [device] = results.srm.by.filter(({ dimension }: { dimension: string }) => dimension === "device")
    expect([device.value, device.units]).toEqual(["mobile", results.variants.map(({ units }: any) => units)])
    await send("DELETE", "/v1/collections/goods")
    expect((await send("GET", `/v1/experiments/${id}`)).status).toBe(404)
  })
})
