/** `dowser org …` and `dowser keys …`: call the operator's API from a terminal. */
import { Effect } from "effect"
import { callOperator, resolveTarget, type TargetFlags } from "./target.ts"

const print = (line: string) =>
  Effect.sync(() => {
    process.stdout.write(`${line}\n`)
  })
type Json = Record<string, unknown>

export const createOrganization = Effect.fn("cli.createOrganization")(function* (
  flags: TargetFlags & { readonly name: string; readonly json: boolean; readonly plan: string | undefined }
) {
  const target = yield* resolveTarget(flags)
  const made = (yield* callOperator(target, "POST", "/organizations", {
    name: flags.name,
    ...(flags.plan === undefined ? {} : { plan: flags.plan })
  })) as Json
  if (flags.json) return yield* print(JSON.stringify(made))
  yield* print(
    `organization ${String(made.organization_id)}\nfull key     ${String(made.full_key)}\nsearch key   ${String(made.search_key)}\nThe keys are shown once.`
  )
})

export const listOrganizations = Effect.fn("cli.listOrganizations")(function* (
  flags: TargetFlags & { readonly json: boolean }
) {
  const target = yield* resolveTarget(flags)
  const { data } = (yield* callOperator(target, "GET", "/organizations")) as { readonly data: ReadonlyArray<Json> }
  if (flags.json) return yield* print(JSON.stringify({ data }))
  for (const each of data)
    yield* print(
      `${String(each.id)}  ${String(each.status).padEnd(7)} ${String(each.plan).padEnd(10)} ${String(each.name)}`
    )
})

export const pauseOrganization = Effect.fn("cli.pauseOrganization")(function* (
  flags: TargetFlags & { readonly organization: string; readonly reason: string; readonly json: boolean }
) {
  const paused = (yield* callOperator(
    yield* resolveTarget(flags),
    "POST",
    `/organizations/${encodeURIComponent(flags.organization)}/pause`,
    { reason: flags.reason }
  )) as Json
  yield* print(
    flags.json ? JSON.stringify(paused) : `${String(paused.id)} is paused (${flags.reason}): its operations answer 402`
  )
})

export const resumeOrganization = Effect.fn("cli.resumeOrganization")(function* (
  flags: TargetFlags & { readonly organization: string; readonly json: boolean }
) {
  const resumed = (yield* callOperator(
    yield* resolveTarget(flags),
    "POST",
    `/organizations/${encodeURIComponent(flags.organization)}/resume`
  )) as Json
  yield* print(flags.json ? JSON.stringify(resumed) : `${String(resumed.id)} is active`)
})

export const planOrganization = Effect.fn("cli.planOrganization")(function* (
  flags: TargetFlags & {
    readonly organization: string
    readonly plan: string
    readonly quota: number | undefined
    readonly overage: boolean
    readonly json: boolean
  }
) {
  const target = yield* resolveTarget(flags)
  const set = (yield* callOperator(target, "POST", `/organizations/${encodeURIComponent(flags.organization)}/plan`, {
    plan: flags.plan,
    ...(flags.quota === undefined ? {} : { quota: flags.quota }),
    overage: flags.overage
  })) as Json
  if (flags.json) return yield* print(JSON.stringify(set))
  yield* print(
    `${String(set.plan)}, ${set.quota === null ? "searches without limit" : `${String(set.quota)} searches a month`}, ${set.overage === true ? "the wallet pays for more" : "no more than that"}`
  )
})

export const topUpOrganization = Effect.fn("cli.topUpOrganization")(function* (
  flags: TargetFlags & {
    readonly organization: string
    readonly credits: number
    readonly reference: string | undefined
    readonly json: boolean
  }
) {
  const target = yield* resolveTarget(flags)
  const made = (yield* callOperator(target, "POST", `/organizations/${encodeURIComponent(flags.organization)}/top-up`, {
    credits: flags.credits,
    ...(flags.reference === undefined ? {} : { reference: flags.reference })
  })) as { readonly credits: Json }
  if (flags.json) return yield* print(JSON.stringify(made))
  yield* print(`${String(made.credits.balance)} credits, ${String(made.credits.available)} of them available`)
})

interface CreateKeyFlags extends TargetFlags {
  readonly organization: string
  readonly scope: "full" | "search" | "connector_write"
  readonly gateway: boolean
  readonly rateLimit: number | undefined
  readonly description: string
  /** `collection=filter`. */ readonly filterBy: ReadonlyArray<string>
  readonly json: boolean
}

export const createKey = Effect.fn("cli.createKey")(function* (flags: CreateKeyFlags) {
  const target = yield* resolveTarget(flags)
  const filters = Object.fromEntries(
    flags.filterBy.map((text) => {
      const at = text.indexOf("=")
      return [text.slice(0, at), text.slice(at + 1)]
    })
  )
  const made = (yield* callOperator(target, "POST", `/organizations/${encodeURIComponent(flags.organization)}/keys`, {
    description: flags.description,
    scope: flags.scope,
    ...(flags.gateway ? { gateway: true } : {}),
    ...(flags.rateLimit === undefined ? {} : { rate_limit_per_minute: flags.rateLimit }),
    ...(flags.filterBy.length === 0 ? {} : { filter_by: filters })
  })) as Json
  if (flags.json) {
    const named =
      flags.scope === "full" ? { full_key: made.value } : flags.scope === "search" ? { search_key: made.value } : {}
    return yield* print(JSON.stringify({ organization_id: flags.organization, ...named, key: made.value, id: made.id }))
  }
  yield* print(`${String(made.value)}\n(${String(made.id)}, ${flags.scope}; shown once)`)
})
