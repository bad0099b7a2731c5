/**
 * A process that decodes images, one at a time. It has no secrets (a clean environment), no network, no file to write
 * to (on Deno, by its permissions), and limited memory. An image that takes too much memory or time ends the process,
 * and the next one gets a new process.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { type Frame, frameOf, FrameReader } from "./frames.ts"

const PROGRAM = fileURLToPath(new URL("./image-worker.ts", import.meta.url))
const HEAP_MB = 128
/**
 * Writable memory, including the runtime's own reservations of 560 MB: some 600 MB are left for an image, whose 40
 * million pixels take 160 MB if a format is decoded in full.
 */
const DATA_KB = 1_200_000
const START_WITHIN_MS = 30_000
const ANSWER_WITHIN_MS = 15_000
/** Variables that the runtime and the library loader need; none of our own. */
const PASSED_ON = ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "LD_LIBRARY_PATH", "TMPDIR"]

const runtimeFlags =
  (globalThis as { readonly Deno?: unknown }).Deno === undefined
    ? [`--max-old-space-size=${HEAP_MB}`, "--disable-warning=ExperimentalWarning"]
    : [
        "run",
        "--quiet",
        "--no-prompt",
        "--no-remote",
        "--allow-ffi",
        "--allow-read",
        "--allow-env",
        "--allow-sys",
        `--v8-flags=--max-old-space-size=${HEAP_MB},--single-threaded-gc`
      ]
const launched = (): ChildProcess =>
  spawn(
    "/bin/sh",
    ["-c", `ulimit -d ${DATA_KB}; ulimit -c 0; exec "$0" "$@"`, process.execPath, ...runtimeFlags, PROGRAM],
    {
      stdio: ["pipe", "pipe", "ignore"],
      env: {
        ...Object.fromEntries(
          PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
        ),
        MALLOC_ARENA_MAX: "2",
        DENO_NO_UPDATE_CHECK: "1"
      }
    }
  )

export type Outcome =
  | { readonly kind: "done"; readonly frame: Frame }
  | { readonly kind: "refused"; readonly message: string }
  /** The process has ended, or never started. */
  | { readonly kind: "lost"; readonly hasStarted: boolean }

export class ImageChild {
  readonly #process = launched()
  readonly #reader = new FrameReader()
  readonly #started: Promise<boolean>
  #settle: ((outcome: Outcome) => void) | undefined
  #number = 0
  #isReady = false
  isOver = false

  constructor() {
    let started = (_isReady: boolean) => {}
    this.#started = new Promise((resolve) => {
      started = resolve
    })
    const over = () => {
      this.isOver = true
      started(false)
      this.#end({ kind: "lost", hasStarted: this.#isReady })
    }
    this.#process.on("error", over)
    this.#process.on("exit", over)
    // The process may end while it is being written to; its end is reported above.
    this.#process.stdin!.on("error", () => {})
    this.#process.stdout!.on("data", (piece: Uint8Array) => {
      try {
        for (const frame of this.#reader.push(piece))
          if (frame.head.ready === true) {
            this.#isReady = true
            started(true)
          } else this.#take(frame)
      } catch {
        this.close()
      }
    })
  }
  #take(frame: Frame): void {
    if (frame.head.number !== this.#number) return
    const { refused } = frame.head
    this.#end(typeof refused === "string" ? { kind: "refused", message: refused } : { kind: "done", frame })
  }
  #end(outcome: Outcome): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(outcome)
  }
  /** One request at a time. Never rejects. */
  async ask(
    head: Readonly<Record<string, unknown>>,
    bytes: Uint8Array,
    within_ms = ANSWER_WITHIN_MS
  ): Promise<Outcome> {
    let timer = setTimeout(() => this.close(), START_WITHIN_MS)
    const isReady = await this.#started
    clearTimeout(timer)
    if (!isReady || this.isOver) return { kind: "lost", hasStarted: this.#isReady }
    const outcome = new Promise<Outcome>((settle) => {
      this.#settle = settle
    })
    timer = setTimeout(() => {
      this.#end({ kind: "refused", message: `The image takes more than ${within_ms / 1_000} s to decode.` })
      this.close()
    }, within_ms)
    for (const part of frameOf({ head: { ...head, number: ++this.#number }, bytes })) this.#process.stdin!.write(part)
    try {
      return await outcome
    } finally {
      clearTimeout(timer)
    }
  }
  close(): void {
    this.isOver = true
    this.#process.kill("SIGKILL")
  }
}
