/** Whether a stored value can be the output of a field's model: a vector of its dimensions, or nothing. */
import type { Field } from "../schema.ts"

export const isVectorOf = ({ num_dim }: Pick<Field, "num_dim">, value: unknown): boolean =>
  !Array.isArray(value) || value.length === num_dim
