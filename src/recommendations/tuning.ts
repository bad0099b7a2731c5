/** What a training tries: at most a dozen parameter sets of a model's type, its own first. Pure. */
import type { ModelType, Params } from "../recommendation-models/params.ts"

/** Values of each parameter, tried in all combinations. */
const GRIDS: ReadonlyMap<ModelType, Readonly<Record<string, ReadonlyArray<number>>>> = new Map<
  ModelType,
  Readonly<Record<string, ReadonlyArray<number>>>
>([
  // Whether the last step or the entire visit predicts the next, and whether visits of a month ago still count.
  ["also_viewed", { transition_decay: [0.3, 0.5, 0.8], distance: [2, 5], age_days: [10, 60] }],
  ["personalized", { neighbours: [75, 150, 400], similar_decay: [10, 50], age_days: [60, 1_000] }],
  ["frequently_bought_together", { popularity_bias: [0.2, 0.3, 0.4, 0.5], min_support: [2, 3, 5] }],
  ["trending", { window_hours: [3, 6, 24], baseline_days: [3, 7, 14] }],
  ["popular", { half_life_days: [1, 3, 7, 14, 30] }]
])

/** The model's own parameters, then every other combination. Only one set if its type has nothing to tune. */
export const candidatesFor = (type: ModelType, params: Params): ReadonlyArray<Params> => {
  let tried: ReadonlyArray<Params> = [{}]
  for (const [name, values] of Object.entries(GRIDS.get(type) ?? {}))
    tried = tried.flatMap((one) => values.map((value) => ({ ...one, [name]: value })))
  return [params, ...tried.map((one) => ({ ...params, ...one })).filter((one) => !isSame(one, params))]
}
const isSame = (one: Params, other: Params): boolean => Object.keys(one).every((name) => one[name] === other[name])
