/** What a job asks the thread that trains a model, one thing after the other. */
export type ToTrainer =
  /** What texts of documents are made of. */
  | { readonly kind: "begin"; readonly from: ReadonlyArray<string> }
  /** Documents, a line of JSON each. */
  | { readonly kind: "documents"; readonly lines: string }
  | { readonly kind: "train" }
export interface TrainedBytes {
  readonly bytes: Uint8Array
  readonly documents: number
  /** Of a document, on average. */ readonly characters: number
  readonly features: number
}
