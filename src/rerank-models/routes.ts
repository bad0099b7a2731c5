/** Handlers of rerank models: the collection is looked up before the body is read. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { type OperationContext } from "@dowser/engine-sdk/operations"
import { fieldNamed } from "@dowser/engine-sdk/query"
import { Effect } from "effect"
import { parseDateRange } from "../analytics/date-range.ts"
import { implement } from "../api/implement.ts"
import { makeCollectionOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { invalidFields } from "../http/checks.ts"
import { type InputInvalid, inputInvalid, NotFound } from "../http/errors.ts"
import { Rerankers } from "../rerankers/rerankers.ts"
import type { StoredModel } from "../rerankers/schema.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { SearchRules } from "../rules/search-rules.ts"
import * as contract from "./contract.ts"
import { RerankModelInUse } from "./errors.ts"
import { Trainings } from "./trainings.ts"

const FIELDS_BY_DEFAULT = 8
const shown = ({ organization_id: _, ...model }: StoredModel) => model
const isText = (type: string): boolean => type === "string" || type === "string[]"

/** The fields of the body, which must be text fields of the collection, else the collection's first ones. */
const fieldsOf = (
  { schema }: CollectionInfo,
  asked: ReadonlyArray<string> | undefined
): Effect.Effect<ReadonlyArray<string>, InputInvalid> => {
  const texts = schema.fields.filter(({ index, name, type }) => index && isText(type) && !name.includes("*"))
  if (asked === undefined)
    return texts.length === 0
      ? Effect.fail(inputInvalid("fields", "The collection has no text field to look at"))
      : Effect.succeed(texts.slice(0, FIELDS_BY_DEFAULT).map(({ name }) => name))
  const wrong = asked.flatMap((name, i) =>
    isText(fieldNamed(schema, name)?.type ?? "")
      ? []
      : [{ path: `fields.${i}`, message: "Not a text field of the collection" }]
  )
  return wrong.length > 0 ? Effect.fail(invalidFields(wrong)) : Effect.succeed([...new Set(asked)])
}

/** The search rules, presets and policies that refer to a model, as texts. O(presets and policies). */
const namersOf = (
  context: OperationContext,
  { policies, rules }: { readonly policies: SearchPolicies["Service"]; readonly rules: SearchRules["Service"] },
  collection: CollectionInfo,
  model: string
): ReadonlyArray<string> => [
  ...(rules.get(context.namespace, collection)?.ruleSet.rerank.model === model
    ? [`search rules of ${collection.schema.name}`]
    : []),
  ...context.resources
    .list(context.namespace, "preset")
    .filter(({ value }) => (value as Readonly<Record<string, unknown>>).rerank_model === model)
    .map(({ name }) => `preset ${name}`),
  ...policies
    .list(context.namespace)
    .filter(({ parameters }) => parameters.rerank_model === model)
    .map(({ name }) => `policy ${name}`)
]

export const routes = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const rerankers = yield* Rerankers
  const owners = { policies: yield* SearchPolicies, rules: yield* SearchRules }
  const trainings = yield* Trainings
  const collectionOf = yield* makeCollectionOf
  const modelOf = (organizationId: string, collection: CollectionInfo, name: string) => {
    const model = rerankers.get(organizationId, collection.schema.name, name)
    return model === undefined
      ? Effect.fail(new NotFound({ message: "Rerank model not found" }))
      : Effect.succeed(model)
  }
  return [
    implement(
      contract.trainRerankModel,
      Effect.fnUntraced(function* ({ caller: { organizationId }, params, payload }) {
        const collection = yield* collectionOf(organizationId, params.collectionName)
        const { fields: asked, from, name, to } = yield* payload
        const parsed = parseDateRange(from, to)
        if (!parsed.ok) return yield* invalidFields(parsed.issues)
        const fields = yield* fieldsOf(collection, asked)
        yield* rerankers.requireRoom(organizationId, collection.schema.name, name)
        return yield* trainings.start(organizationId, {
          name,
          collection: collection.schema.name,
          fields,
          from_at: parsed.range.from,
          before_at: parsed.range.before
        })
      })
    ),
    implement(contract.listRerankModels, ({ caller: { organizationId }, params }) =>
      Effect.map(collectionOf(organizationId, params.collectionName), ({ schema }) => ({
        data: rerankers.list(organizationId, schema.name).map(shown)
      }))
    ),
    implement(
      contract.getRerankModel,
      Effect.fnUntraced(function* ({ caller: { organizationId }, params }) {
        const collection = yield* collectionOf(organizationId, params.collectionName)
        const model = yield* modelOf(organizationId, collection, params.modelName)
        const versions = yield* rerankers.versions(organizationId, model.collection, model.name)
        return { ...shown(model), versions: versions.map(shown) }
      })
    ),
    implement(
      contract.deleteRerankModel,
      Effect.fnUntraced(function* ({ caller: { organizationId }, params }) {
        const collection = yield* collectionOf(organizationId, params.collectionName)
        const { name } = yield* modelOf(organizationId, collection, params.modelName)
        const named_by = namersOf(contextOf(organizationId), owners, collection, name)
        if (named_by.length > 0)
          return yield* new RerankModelInUse({
            message: `The model \`${name}\` is named by ${named_by.slice(0, 5).join(", ")}.`,
            named_by: named_by.slice(0, 100)
          })
        yield* rerankers.remove(organizationId, collection.schema.name, name)
        return { name }
      })
    )
  ]
})
