/**
 * The messages between the front and the stream worker. They are small: records are passed through the log, not here,
 * except dead letters and the replacements of erased entries, because only the front writes the log.
 */

import type { Weights } from "../runner/weights.ts"

export interface WorkerSettings {
  readonly logPath: string
  /** Folder for the snapshots of keyed state. */
  readonly statePath: string
  readonly sql: {
    readonly host: string
    readonly port: number
    readonly username: string
    readonly password: string
    readonly database: string
  }
  readonly visitorPartitions: number
  /** Weights of organizations that share a partition. */
  readonly weights?: Weights
  /** Ends of the durable records at the worker's start. */
  readonly ends: ReadonlyArray<PartitionEnd>
}

export interface PartitionEnd {
  readonly topic: string
  readonly partition: number
  readonly endOffset: number
}

/** Receiving typed arrays is slow on Deno, so a buffer is sent and the view is created on arrival. */
interface RecordMessage {
  readonly topic: string
  readonly partition: number
  readonly key: string | undefined
  readonly value: ArrayBuffer
}

export type ToStreams =
  /** Records up to these offsets are durable. The log is authoritative; this limits how far it may be read. */
  | { readonly kind: "appended"; readonly ends: ReadonlyArray<PartitionEnd> }
  | { readonly kind: "stored"; readonly id: number; readonly offsets: ReadonlyArray<number> }
  | { readonly kind: "refused"; readonly id: number; readonly message: string; readonly isOverloaded: boolean }
  | { readonly kind: "stop" }

export type FromStreams =
  | { readonly kind: "ready" }
  | { readonly kind: "append"; readonly id: number; readonly records: ReadonlyArray<RecordMessage> }
  | {
      readonly kind: "rewrite"
      readonly id: number
      readonly topic: string
      readonly partition: number
      readonly values: ReadonlyArray<{ readonly offset: number; readonly value: ArrayBuffer }>
    }
  | { readonly kind: "progress"; readonly progress: import("../runner/options.ts").Progress }
  | { readonly kind: "failed"; readonly name: string; readonly message: string; readonly stack: string | undefined }
  | { readonly kind: "stopped" }

/** How the worker reaches the front, over any transport: a thread's port, a child process, a test. */
export interface StreamsPort {
  readonly send: (message: FromStreams) => void
  readonly onMessage: (listener: (message: ToStreams) => void) => void
}
