/** Schemas that the operations of the catalogue share. */
import { Schema } from "effect"
import { engineErrors } from "../engine-plane/engine-errors.ts"

export const strings = Schema.Array(Schema.String)
export const anything = Schema.Record(Schema.String, Schema.Unknown)
export const text = Schema.optionalKey(Schema.String)

export const Lines = Schema.String.annotate({ identifier: "JsonLines", description: "One JSON object per line." })

export const at = { plane: "engine", scope: "full", payloadIsChecked: false, errors: engineErrors() } as const
