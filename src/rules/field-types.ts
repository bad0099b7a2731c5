/**
 * Which fields a rule may name, beyond their existence: a facet suggestion needs a facet, a vector rule a vector. Pure.
 */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { fieldNamed } from "@dowser/engine-sdk/query"
import type { RuleIssue, RuleSet } from "@dowser/engine-sdk/rules"

/** O(named fields). Fields that do not exist were reported before. */
export const fieldTypeIssues = (
  { diversity, facet_suggestions }: RuleSet,
  schema: CollectionSchema
): ReadonlyArray<RuleIssue> => [
  ...facet_suggestions.fields.flatMap((name, i) =>
    fieldNamed(schema, name)?.facet === false
      ? [{ path: `facet_suggestions.fields[${i}]`, message: `the field \`${name}\` is no facet` }]
      : []
  ),
  ...diversity.flatMap(({ mmr }, i) =>
    mmr !== undefined && mmr.vector_field !== "" && fieldNamed(schema, mmr.vector_field)?.num_dim === 0
      ? [{ path: `diversity[${i}].mmr.vector_field`, message: `the field \`${mmr.vector_field}\` holds no vectors` }]
      : []
  )
]
