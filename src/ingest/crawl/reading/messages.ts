/** Messages between the main thread and the thread that reads pages. */
import type { PageRead, PageToRead } from "./page-documents.ts"

export interface ToReader {
  readonly number: number
  readonly asked: PageToRead
  /** The page is the buffer up to `length`. */ readonly buffer: ArrayBuffer
  readonly length: number
}
export type FromReader =
  | { readonly number: number; readonly kind: "read"; readonly page: PageRead }
  | { readonly number: number; readonly kind: "unread"; readonly message: string }
  | { readonly kind: "ready" }
