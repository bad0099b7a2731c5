/** How a program of the server is called, and as which user; `{}`: as the calling process. */
export interface RunAs {
  readonly command: (
    program: string,
    args: ReadonlyArray<string>
  ) => { readonly file: string; readonly args: Array<string> }
  readonly identity: { readonly uid?: number; readonly gid?: number }
}
export interface RunningServer {
  readonly port: number
  /** Fast shutdown (SIGINT); resolves when the server has ended. Idempotent. */ readonly stop: () => Promise<void>
  /** Resolves when the server ended without `stop`. */ readonly died: Promise<string>
}
export declare const BACKGROUND: number
/** Folder of this platform's binaries. Throws if npm has none. */
export declare const nativeFolder: () => string
/** A loopback port on which nobody listens now, found by listening on port 0 and closing. */
export declare const freePort: () => Promise<number>
export declare const initialize: (folder: string, password: string, as: RunAs) => void
export declare const startServer: (
  folder: string,
  as: RunAs & { /** Its port; by default a free one. */ readonly at?: number }
) => Promise<RunningServer>
