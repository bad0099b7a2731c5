/** Checks of a configuration that need the organization: whether what it names exists, and each name is unique. */
import { Effect } from "effect"
import { CatalogNames } from "../catalog/names.ts"
import { Connectors } from "../connectors/connectors.ts"
import { CatalogResources } from "../engine-plane/resources.ts"
import type { Issue } from "../http/checks.ts"
import { RecommendationModels } from "../recommendation-models/models.ts"
import type { CmsConfig } from "./schema.ts"

type Source = CmsConfig["stores"][number]["sources"][number]
/** The path of each name that already occurred. */
const repeated = (names: ReadonlyArray<string>, pathOf: (i: number) => string): ReadonlyArray<Issue> =>
  names.flatMap((name, i) =>
    names.indexOf(name) < i ? [{ path: pathOf(i), message: `\`${name.slice(0, 120)}\` occurs twice` }] : []
  )

export const makeCheckConfig = Effect.gen(function* () {
  const connectors = yield* Connectors
  const models = yield* RecommendationModels
  const names = yield* CatalogNames
  const resources = yield* CatalogResources

  const ofConnector = (organizationId: string, { collection, connector_id }: Source): string | undefined => {
    if (connector_id === undefined) return undefined
    const connector = connectors.byId(connector_id)
    if (connector === undefined || connector.organization_id !== organizationId) return "Connector not found"
    return connector.collection === collection
      ? undefined
      : `The connector writes to \`${connector.collection}\`, not to the source's collection`
  }
  const ofSource = (organizationId: string, source: Source): ReadonlyArray<readonly [string, string | undefined]> => {
    const { collection, recommendation_model: model, search_preset: preset } = source
    return [
      ["collection", names.resolve(organizationId, collection) === undefined ? "Collection not found" : undefined],
      ["connector_id", ofConnector(organizationId, source)],
      [
        "search_preset",
        preset !== undefined && resources.get(organizationId, "preset", preset) === undefined
          ? "Preset not found"
          : undefined
      ],
      [
        "recommendation_model",
        model !== undefined && models.find(organizationId, model) === undefined ? "Model not found" : undefined
      ]
    ]
  }
  return (organizationId: string, { stores }: CmsConfig): ReadonlyArray<Issue> => [
    ...repeated(
      stores.map(({ local_id }) => local_id),
      (i) => `config.stores[${i}].local_id`
    ),
    ...stores.flatMap(({ sources }, s) => [
      ...repeated(
        sources.map(({ local_id }) => local_id),
        (i) => `config.stores[${s}].sources[${i}].local_id`
      ),
      ...sources.flatMap((source, i) =>
        ofSource(organizationId, source).flatMap(([field, message]) =>
          message === undefined ? [] : [{ path: `config.stores[${s}].sources[${i}].${field}`, message }]
        )
      )
    ])
  ]
})
