/** Messages from a job to the thread that trains a model; it handles one at a time. */
export type ToTrainer =
  /** The fields whose texts are used. */
  | { readonly kind: "begin"; readonly from: ReadonlyArray<string> }
  /** Documents as JSON lines. */
  | { readonly kind: "documents"; readonly lines: string }
  | { readonly kind: "train" }
export interface TrainedBytes {
  readonly bytes: Uint8Array
  readonly documents: number
  /** Average length of a document. */ readonly characters: number
  readonly features: number
}
