/**
 * Targets to which a variant can be written so that it affects everybody: a preset, the collection's rules, a
 * profile's releases. The value of each target shows whether it has been changed since.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import type { RuleSet } from "@dowser/engine-sdk/rules"
import { Identifiers } from "@dowser/log/identifiers"
import { Effect } from "effect"
import { makeCollectionOf } from "../engine-plane/engine-plane.ts"
import { CatalogResources } from "../engine-plane/resources.ts"
import { ConfigurationUnavailable, Conflict, EngineRefusal } from "../http/errors.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { actingManifest } from "../profiles/acting-profile.ts"
import { makeJudge } from "../profiles/judge-profiles.ts"
import { manifestOf, type ProfileManifest } from "../profiles/manifest.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import { SearchRules } from "../rules/search-rules.ts"
import type { Definition, Variant } from "./definition.ts"

export type Place =
  | { readonly kind: "preset"; readonly name: string }
  | { readonly kind: "rules"; readonly collection: string }
  | { readonly kind: "profile"; readonly collection: string; readonly name: string }

/** For a profile: the active release (null for the draft), and the draft's revision. */
interface ProfileValue {
  readonly release_id: string | null
  readonly revision: number
}
interface Change {
  readonly from: unknown
  readonly to: unknown
  /** Manifest of the release to be created. */ readonly manifest?: ProfileManifest | undefined
}

const refuse = (message: string) => Effect.fail(new Conflict({ message }))
const listed = (text: unknown): ReadonlyArray<string> =>
  String(text)
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")

/** Parameters that a profile can contain, and how it expresses them. */
type Expression = (value: unknown, manifest: ProfileManifest) => Partial<ProfileManifest>
const EXPRESSIONS: ReadonlyMap<string, Expression> = new Map<string, Expression>([
  ["query_by", (value) => ({ searchable_fields: listed(value) })],
  [
    "facet_by",
    (value, { facet_fields }) => ({
      facet_fields: listed(value).map(
        (field) => facet_fields.find((known) => known.field === field) ?? { field, label: field }
      )
    })
  ],
  ["highlight_fields", (value) => ({ highlight_fields: listed(value) })]
])

const nameOf = (place: Place): string =>
  place.kind === "rules"
    ? `rules of \`${place.collection}\``
    : place.kind === "preset"
      ? `preset \`${place.name}\``
      : `profile \`${place.name}\``

/** The target of a variant, or a message if there is none. Pure. */
const placeFor = ({ collection, target }: Definition, variant: Variant): Place | string => {
  const { id, params, profile, rules } = variant
  if (rules !== undefined) return { kind: "rules", collection }
  const ofTarget: Place | undefined =
    target === undefined
      ? undefined
      : "preset" in target
        ? { kind: "preset", name: target.preset }
        : { kind: "profile", collection, name: target.profile }
  if (profile !== undefined)
    return ofTarget?.kind === "profile"
      ? ofTarget
      : `The variant \`${id}\` is a profile, and the experiment has no profile as its target: there is no place to write it to.`
  if (params === undefined || Object.keys(params).length === 0)
    return `The variant \`${id}\` changes nothing: there is nothing to write.`
  if (ofTarget === undefined)
    return `The variant \`${id}\` is parameters, and the experiment has neither a preset nor a profile as its target: there is no place to write them to.`
  const inexpressible = ofTarget.kind === "profile" ? Object.keys(params).filter((name) => !EXPRESSIONS.has(name)) : []
  return inexpressible.length === 0
    ? ofTarget
    : `A profile cannot say ${inexpressible.map((name) => `\`${name}\``).join(", ")}.`
}

const makePresets = Effect.gen(function* () {
  const resources = yield* CatalogResources
  const found = (organizationId: string, name: string) => resources.get(organizationId, "preset", name)
  const write = (organizationId: string, name: string, { from, to }: Change) =>
    Effect.gen(function* () {
      const origin = yield* CurrentOrigin
      const written = yield* Effect.catch(
        Effect.tryPromise({
          try: () =>
            resources
              .on(origin)
              .change(organizationId, "preset", name, (preset) =>
                preset === undefined || JSON.stringify(preset.value) !== JSON.stringify(from)
                  ? undefined
                  : { ...preset, value: to as typeof preset.value }
              ),
          catch: (error) => error
        }),
        (error): Effect.Effect<never, Conflict | ConfigurationUnavailable | FeatureNotInPlan> =>
          error instanceof EngineRefusal
            ? refuse(error.message)
            : error instanceof ConfigurationUnavailable || error instanceof FeatureNotInPlan
              ? Effect.fail(error)
              : Effect.die(error)
      )
      if (written === undefined) return yield* refuse(`The preset \`${name}\` was changed meanwhile.`)
    })
  return { found, write }
})

const makeProfilePlaces = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const { judge } = yield* makeJudge
  const changesIn = (organizationId: string) => (collection: CollectionInfo, manifest: ProfileManifest) =>
    judge(organizationId, collection, manifest).changes.filter(({ path }) => path !== "search_policy")
  const valueOf = ({
    active,
    revision
  }: {
    readonly active: { readonly id: string } | undefined
    readonly revision: number
  }): ProfileValue => ({ release_id: active?.id ?? null, revision })
  const write = (organizationId: string, collection: CollectionInfo, name: string, { from, manifest, to }: Change) =>
    profiles
      .putActive(
        organizationId,
        collection,
        name,
        {
          expected: from as ProfileValue,
          release_id: (to as ProfileValue).release_id,
          manifest,
          note: "Promoted from an experiment"
        },
        changesIn(organizationId)
      )
      .pipe(Effect.catchTag(["ManifestNotHot", "RevisionMismatch", "NotFound"], ({ message }) => refuse(message)))
  return { valueOf, write, get: profiles.get }
})

export const makePlaces = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const presets = yield* makePresets
  const profiles = yield* makeProfilePlaces
  const rules = yield* SearchRules
  const collectionOf = yield* makeCollectionOf
  const profileAt = Effect.fnUntraced(function* (organizationId: string, collection: string, name: string) {
    const profile = profiles.get(organizationId, yield* collectionOf(organizationId, collection), name)
    return profile ?? (yield* refuse(`The profile \`${name}\` no longer exists, so there is no place to write to.`))
  })

  /** The current value of the target. */
  const valueAt = Effect.fnUntraced(function* (organizationId: string, place: Place) {
    if (place.kind === "preset") {
      const preset = presets.found(organizationId, place.name)
      if (preset === undefined)
        return yield* refuse(`The preset \`${place.name}\` no longer exists, so there is no place to write to.`)
      return preset.value as unknown
    }
    if (place.kind === "rules")
      return rules.get(organizationId, yield* collectionOf(organizationId, place.collection))?.ruleSet ?? null
    return profiles.valueOf(yield* profileAt(organizationId, place.collection, place.name)) as unknown
  })
  /** The new value of the target; for a profile, the release to be created. */
  const valueOf = Effect.fnUntraced(function* (
    organizationId: string,
    { collection }: Definition,
    { params, profile, rules: ruleSet }: Variant,
    place: Place,
    before: unknown
  ) {
    if (place.kind === "preset") return { to: { ...(before as object), ...params } as unknown }
    if (place.kind === "rules") return { to: ruleSet as unknown }
    const target = yield* profileAt(organizationId, collection, place.name)
    const own = actingManifest(profile === undefined ? target : yield* profileAt(organizationId, collection, profile))
    const manifest =
      params === undefined
        ? own
        : Object.entries(params).reduce(
            (made, [name, value]) => manifestOf({ ...made, ...EXPRESSIONS.get(name)!(value, made) }),
            own
          )
    const to: ProfileValue = { release_id: yield* identifiers.make("rel"), revision: target.revision }
    return { to: to as unknown, manifest }
  })
  const write = Effect.fnUntraced(function* (organizationId: string, place: Place, change: Change) {
    if (place.kind === "preset") return yield* presets.write(organizationId, place.name, change)
    const collection = yield* collectionOf(organizationId, place.collection)
    if (place.kind === "profile") return yield* profiles.write(organizationId, collection, place.name, change)
    if (change.to === null) return yield* rules.remove(organizationId, collection.schema.name)
    yield* rules.replace(organizationId, collection, change.to as RuleSet)
  })
  return {
    nameOf,
    valueAt,
    valueOf,
    write,
    placeOf: (definition: Definition, variant: Variant) => {
      const place = placeFor(definition, variant)
      return typeof place === "string" ? refuse(place) : Effect.succeed(place)
    }
  }
})
