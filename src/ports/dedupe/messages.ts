/** Messages between the front and the thread that keeps the runs. Buffers are transferred, not copied. */
import type { LogRange } from "./run-format.ts"
import type { RunStoreOptions } from "./run-store.ts"
import type { OpenedRun } from "./run-writer.ts"

export interface RunThreadSettings extends RunStoreOptions {
  /** Earlier hours have left the window; sent with every seal. */
  readonly oldestHour: number
}

export type ToRuns =
  /** Consecutive blocks; `parts`: hour and number of words of each. Answered by `took`. */
  | { readonly kind: "add"; readonly buffer: ArrayBuffer; readonly parts: ReadonlyArray<number> }
  | { readonly kind: "seal"; readonly range: LogRange; readonly oldestHour: number }
  /** The opened runs are in use: from now on they may be merged. */
  | { readonly kind: "begin" }
  /** Nobody reads these files any longer. */
  | { readonly kind: "release"; readonly names: ReadonlyArray<string> }
  /** These runs must not be used; answered by `discarded`. */
  | { readonly kind: "discard"; readonly names: ReadonlyArray<string> }
  | { readonly kind: "stop" }

export type FromRuns =
  | { readonly kind: "opened"; readonly runs: ReadonlyArray<OpenedRun>; readonly discarded: ReadonlyArray<string> }
  | { readonly kind: "took"; readonly bytes: number }
  | { readonly kind: "sealed"; readonly run: OpenedRun }
  | { readonly kind: "changed"; readonly removed: ReadonlyArray<string>; readonly added: OpenedRun | undefined }
  | { readonly kind: "discarded" }
  /** The thread ends after this. `run`: the damaged file that is the cause, already removed. */
  | { readonly kind: "failed"; readonly message: string; readonly run: string | undefined }
