/** A response other than the operation's value as JSON: prepared text, a stream, another status. */
import type { Readable } from "node:stream"

export class Reply {
  readonly status: number
  readonly body: string | Uint8Array | Readable
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  constructor(
    status: number,
    body: string | Uint8Array | Readable,
    type = "application/json",
    headers: Readonly<Record<string, string>> = {}
  ) {
    this.status = status
    this.body = body
    this.type = type
    this.headers = headers
  }
}
