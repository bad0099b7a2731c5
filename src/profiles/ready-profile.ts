/**
 * Profiles as searches use them: compiled once per release and schema, with the base parameters of each sort computed
 * once, so that plans of the same profile share their template (`plan-templates.ts` of the engine package).
 */
import type { CollectionInfo, Result } from "@dowser/engine-sdk"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { type OperationContext, searchResourcesOf } from "@dowser/engine-sdk/operations"
import { fieldContextOf, type Parameters, parseFilter } from "@dowser/engine-sdk/query"
import { isCurrent } from "../engine-plane/owned-fields.ts"
import type { KnownPolicy } from "../policies/search-policies.ts"
import { type CompiledManifest, compileManifest } from "./compile-manifest.ts"
import type { ProfileManifest } from "./manifest.ts"
import { baseParameters } from "./profile-parameters.ts"
import { type ActingProfile, actingManifest } from "./acting-profile.ts"

/** Longest filter whose result in `judged` is cached: clients send the same filters repeatedly. */
const FILTER_CHARACTERS_MAX = 2_000
const judged = new BoundedMap<string, Result<unknown>>({
  bytes_max: 4_000_000,
  bytesOf: (key) => 200 + 2 * key.length
})
let numbers = 0

export class ReadyProfile {
  readonly manifest: ProfileManifest
  readonly compiled: CompiledManifest
  readonly policy: KnownPolicy | undefined
  readonly #number = ++numbers
  readonly #bases = new Map<string | undefined, Parameters>()
  readonly #collection: CollectionInfo
  /** Not the request's entire context, which would be retained. */
  readonly #context: Pick<OperationContext, "limits" | "namespace" | "resources">

  constructor(
    context: OperationContext,
    collection: CollectionInfo,
    manifest: ProfileManifest,
    policy: KnownPolicy | undefined
  ) {
    this.manifest = manifest
    this.policy = policy
    this.compiled = compileManifest(context, collection, manifest)
    this.#collection = collection
    const { limits, namespace, resources } = context
    this.#context = { limits, namespace, resources }
  }

  /** One object per sort. `sortId` is one of the manifest's. */
  baseOf(sortId: string | undefined): Parameters {
    let base = this.#bases.get(sortId)
    if (base === undefined)
      this.#bases.set(
        sortId,
        (base = baseParameters(this.manifest, this.compiled.fields, this.policy?.parameters, sortId))
      )
    return base
  }

  /**
   * Fails if the text is not a filter on fields that the manifest lets clients filter by: all other fields, and other
   * collections, do not exist for it.
   */
  isFilterable = (text: string): Result<unknown> => {
    const key = text.length > FILTER_CHARACTERS_MAX ? undefined : `${this.#number} ${text}`
    const known = key === undefined ? undefined : judged.get(key)
    if (known !== undefined) return known
    const { limits, namespace, resources } = this.#context
    const parsed = parseFilter(
      text,
      fieldContextOf(
        this.#collection,
        {
          collectionOf: () => undefined,
          fields: this.manifest.filterable_fields,
          resources: searchResourcesOf(resources, namespace),
          ...(limits === undefined ? {} : { limits })
        },
        true,
        4
      )
    )
    const result: Result<unknown> = parsed.ok ? { ok: true, value: undefined } : parsed
    if (key !== undefined) judged.set(key, result)
    return result
  }
}

/** Keyed by the profile object: re-reading a profile creates another one. */
const ready = new WeakMap<ActingProfile, ReadyProfile>()

/** O(1); O(fields of the manifest) after the profile, its policy or a schema changed. */
export const readyProfile = (
  context: OperationContext,
  collection: CollectionInfo,
  profile: ActingProfile,
  policy: KnownPolicy | undefined
): ReadyProfile => {
  const known = ready.get(profile)
  if (known !== undefined && known.policy === policy && isCurrent(known.compiled, () => context, collection))
    return known
  const made = new ReadyProfile(context, collection, actingManifest(profile), policy)
  ready.set(profile, made)
  return made
}
