/**
 * Question: what does a search by a profile cost compared with the same parameters written out? Workload: generated
 * documents and queries (or files), on one thread, in process: parameters → profile → plan → search → JSON text. Each
 * query runs both ways, one directly after the other in alternating order, so that both meet the same state of the
 * machine; both ways must return the same result. Excluded: HTTP, the key and analytics, which both ways share.
 */
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  closed,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  writeAnswer
} from "../../engine-sdk/src/operations/mod.ts"
import { manifestOf } from "../../src/profiles/manifest.ts"
import { manifestParameters } from "../../src/profiles/profile-parameters.ts"
import { profiled, type ProfileStepParts } from "../../src/profiles/profile-step.ts"
import type { StoredProfile } from "../../src/profiles/profiles-repository.ts"
import { machine, report, round } from "../harness/harness.ts"
import { type InputOptions, loadInputs } from "../inputs/inputs.ts"
import { contextOver, filled } from "../inputs/filled.ts"

export interface ProfilesOptions extends InputOptions {
  readonly out: string | undefined
  /** How often every query runs both ways. */ readonly rounds: number
}
const manifest = manifestOf({
  label: "Products",
  searchable_fields: ["title", "brand", "category", "attributes"],
  facet_fields: [{ field: "brand" }, { field: "category" }, { field: "color" }],
  filterable_fields: ["brand", "category", "price", "rating", "in_stock", "color", "department"],
  sorts: [{ id: "liked", sort_by: "_text_match:desc,popularity:desc" }],
  default_sort_id: "liked",
  fixed_filter_by: "stock:>0",
  highlight_fields: ["title"],
  per_page_max: 48
})

const partsOf = (collection: string, created_at: number): ProfileStepParts => {
  const profile: StoredProfile = {
    organization_id: "bench",
    collection,
    collection_created_at: created_at,
    name: "listing",
    id: "prf_1",
    is_default: false,
    draft: manifest,
    revision: 1,
    active: { id: "rel_1", version: 1, manifest },
    created_at: 0,
    updated_at: 0
  }
  const profiles = { get: () => profile, byId: () => profile, defaultOf: () => undefined }
  return {
    profiles: profiles as unknown as ProfileStepParts["profiles"],
    policies: { get: () => undefined } as unknown as ProfileStepParts["policies"]
  }
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
/** The part in which both ways must agree: everything but the time. */
const comparable = (text: string): string => text.replace(/"search_time_ms":[\d.]+/, "")

export const benchProfiles = async (options: ProfilesOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const context = contextOver(createEngine())
  await filled(context, inputs)
  const { name } = inputs.schema
  const parts = partsOf(name, context.engine.describeCollection("bench", name)?.created_at ?? 0)
  const { fixedFilter, parameters } = manifestParameters(manifest)
  const caller = { organizationId: "bench" }
  const search = async (asked: Readonly<Record<string, unknown>>): Promise<string> => {
    const reach = new Reach(context, {})
    const read = readSearch(context, name, asked, reach.restrictions)
    if (!read.ok) throw new Error(read.error.message)
    const step = profiled(parts, { context, caller, request: read.value, fields: reach.fields })
    if (!step.ok) throw new Error(step.error.message)
    const planned = await prepareSearch(context, step.value.request, reach)
    if (!planned.ok) throw new Error(planned.error.message)
    const found = await runSearch(context, planned.value)
    if (!found.ok) throw new Error(found.error.message)
    const text = writeAnswer(planned.value, found.value)
    if (!text.ok) throw new Error(text.error.message)
    return closed(text.value)
  }
  const pairs = inputs.queries.map(({ filter_by, q }) => ({
    profile: { q, profile: "listing", per_page: "10", ...(filter_by === undefined ? {} : { filter_by }) },
    written: {
      ...parameters,
      q,
      per_page: "10",
      filter_by: filter_by === undefined ? fixedFilter : `(${String(filter_by)}) && (${fixedFilter})`
    }
  }))
  const times = { profile: [] as Array<number>, written: [] as Array<number>, beyond: [] as Array<number> }
  const timed = async (asked: Readonly<Record<string, unknown>>) => {
    const from = performance.now()
    const text = await search(asked)
    return { us: (performance.now() - from) * 1_000, text }
  }
  let differing = 0
  for (let turn = 0; turn <= options.rounds; turn++)
    for (const [i, pair] of pairs.entries()) {
      const isFirst = (i + turn) % 2 === 0
      const early = await timed(isFirst ? pair.profile : pair.written)
      const late = await timed(isFirst ? pair.written : pair.profile)
      const [profile, written] = isFirst ? [early, late] : [late, early]
      // The first round warms up both ways, and is the one that is compared.
      if (turn === 0) differing += Number(comparable(profile.text) !== comparable(written.text))
      else {
        times.profile.push(profile.us)
        times.written.push(written.us)
        times.beyond.push(profile.us - written.us)
      }
    }
  if (differing > 0) throw new Error(`${differing} of ${pairs.length} queries are answered otherwise by the profile.`)
  report(
    "profiles",
    {
      machine: machine(),
      documents: inputs.documents.length,
      pairs: times.beyond.length,
      written_out_p50_us: round(median(times.written), 1),
      profile_p50_us: round(median(times.profile), 1),
      beyond_p50_us: round(median(times.profile) - median(times.written), 1),
      beyond_in_pairs_p50_us: round(median(times.beyond), 1)
    },
    options.out
  )
  await context.engine.close()
}
