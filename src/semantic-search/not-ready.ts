/** Why a collection has no vectors to search. */
import type { CollectionSchema } from "@dowser/engine-sdk"
import type { EmbeddingField } from "@dowser/engine-sdk/embedding"
import { Conflict } from "../http/errors.ts"
import type { ModelBusy, ModelFailed, ModelNotInstalled } from "../embedding/errors.ts"
import type { VectorsNotReady } from "./errors.ts"

export type NotReady = Conflict | ModelBusy | ModelFailed | ModelNotInstalled | VectorsNotReady
export interface FilledField {
  readonly field: EmbeddingField
  /** Whether all documents have vectors of its model. */ readonly isFilled: boolean
}
/** A request this long after a failed job starts it again. */
export const AGAIN_MS = 60_000
export const notReady = (name: string) => `The vectors of \`${name}\` are being made; ask again when the job is done.`
export const withoutText = ({ name }: CollectionSchema) =>
  new Conflict({ message: `\`${name}\` has no field of text to make vectors of.` })
export const notMade = (name: string, error: string | undefined) =>
  `The vectors of \`${name}\` could not be made: ${error ?? "unexpected error"}`
