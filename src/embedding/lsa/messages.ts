/** What a job asks of the thread that trains a model, one thing at a time. */
export type ToTrainer =
  /** The fields whose texts are used. */
  | { readonly kind: "begin"; readonly from: ReadonlyArray<string> }
  /** Documents, a line of JSON each. */
  | { readonly kind: "documents"; readonly lines: string }
  | { readonly kind: "train" }
export interface TrainedBytes {
  readonly bytes: Uint8Array
  readonly documents: number
  /** Average length of a document. */ readonly characters: number
  readonly features: number
}
