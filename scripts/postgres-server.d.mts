/** How a program of the server is called, and as whom; `{}`: as the calling process. */
export interface RunAs {
  readonly command: (
    program: string,
    args: ReadonlyArray<string>
  ) => { readonly file: string; readonly args: Array<string> }
  readonly identity: { readonly uid?: number; readonly gid?: number }
}
export interface RunningServer {
  readonly port: number
  /** Fast shutdown (SIGINT); resolves when the server is gone. Idempotent. */ readonly stop: () => Promise<void>
  /** Settles when the server ended without having been asked to. */ readonly died: Promise<string>
}
export declare const BACKGROUND: number
/** Of this platform's binaries. Throws where npm has none. */
export declare const nativeFolder: () => string
/** A loopback port that nobody listens on now: asked for by listening on port 0 and letting go. */
export declare const freePort: () => Promise<number>
export declare const initialize: (folder: string, password: string, as: RunAs) => void
export declare const startServer: (
  folder: string,
  as: RunAs & { /** Its port; else a free one. */ readonly at?: number }
) => Promise<RunningServer>
