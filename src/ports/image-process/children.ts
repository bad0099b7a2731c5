/**
 * Images take turns at a few processes: the organization that used the least time is next, and each has at most one
 * image in progress, so that an organization with slow images leaves a process to the others. Processes start with the
 * first image and end when idle.
 */
import { Effect, Layer } from "effect"
import { type Frame } from "./frames.ts"
import { formatOf, NO_IMAGE } from "./format.ts"
import { ImageChild, type Outcome } from "./child.ts"
import { type ImageCounts, ImageFailure, ImageProcess, type KeptImage } from "./image-process.ts"
import { Turns } from "./turns.ts"

const PROCESSES_MAX = 2
const WAITING_MAX = 256
const IDLE_MS = 60_000

interface Work {
  readonly task: "keep" | "describe"
  readonly bytes: Uint8Array
  readonly settle: (outcome: Outcome | "busy") => void
  isGivenUp: boolean
}

class Children {
  readonly #turns = new Turns<Work>()
  readonly #idle: Array<ImageChild> = []
  readonly #atWork = new Set<ImageChild>()
  readonly #within_ms: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  images = 0
  refused = 0
  processesLost = 0

  constructor(within_ms?: number) {
    this.#within_ms = within_ms
  }
  get waiting(): number {
    return this.#turns.size
  }
  /** Returns a function that abandons the task: it is dropped if it has not started. */
  ask(organizationId: string, task: Work["task"], bytes: Uint8Array, settle: Work["settle"]): () => void {
    const work: Work = { task, bytes, settle, isGivenUp: false }
    if (this.#isClosed || this.#turns.size >= WAITING_MAX) settle("busy")
    else {
      this.#turns.put(organizationId, work)
      this.#next()
    }
    return () => {
      work.isGivenUp = true
    }
  }
  #next(): void {
    while (this.#atWork.size < PROCESSES_MAX && !this.#isClosed) {
      const taken = this.#turns.take()
      if (taken === undefined) return
      if (taken.entry.isGivenUp) this.#turns.done(taken.organizationId, 0)
      else void this.#work(taken.organizationId, taken.entry)
    }
  }
  async #work(organizationId: string, { bytes, settle, task }: Work): Promise<void> {
    const child = this.#idle.pop() ?? new ImageChild()
    this.#atWork.add(child)
    clearTimeout(this.#timer)
    const began = performance.now()
    const outcome = await child.ask({ task, format: formatOf(bytes) }, bytes, this.#within_ms)
    this.#atWork.delete(child)
    this.images++
    if (outcome.kind !== "done") this.refused++
    if (child.isOver || this.#isClosed) {
      if (!this.#isClosed) this.processesLost++
      child.close()
    } else this.#idle.push(child)
    this.#turns.done(organizationId, performance.now() - began)
    settle(outcome)
    this.#next()
    if (this.#atWork.size === 0 && !this.#isClosed) this.#rest()
  }
  #rest(): void {
    clearTimeout(this.#timer)
    const end = () => {
      for (const child of this.#idle.splice(0)) child.close()
    }
    this.#timer = setTimeout(end, IDLE_MS).unref()
  }
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const child of [...this.#idle.splice(0), ...this.#atWork]) child.close()
  }
}

const failureOf = (outcome: Exclude<Outcome, { kind: "done" }> | "busy"): ImageFailure => {
  if (outcome === "busy")
    return new ImageFailure({ kind: "busy", message: "Too many images wait to be looked at; send it again later." })
  if (outcome.kind === "refused") return new ImageFailure({ kind: "refused", message: outcome.message })
  return outcome.hasStarted
    ? new ImageFailure({ kind: "refused", message: "The image takes too long to decode." })
    : new ImageFailure({ kind: "failed", message: "The process that decodes images could not be started." })
}

/** `within_ms`: the time limit for one image, for tests. */
export const layerChildren = (within_ms?: number): Layer.Layer<ImageProcess> =>
  Layer.effect(
    ImageProcess,
    Effect.gen(function* () {
      const children = yield* Effect.acquireRelease(
        Effect.sync(() => new Children(within_ms)),
        (own) => Effect.sync(() => own.close())
      )
      const ask = (organizationId: string, task: Work["task"], bytes: Uint8Array) =>
        formatOf(bytes) === undefined
          ? Effect.fail(new ImageFailure({ kind: "refused", message: NO_IMAGE }))
          : Effect.callback<Frame, ImageFailure>((resume) => {
              const giveUp = children.ask(organizationId, task, bytes, (outcome) =>
                resume(
                  outcome !== "busy" && outcome.kind === "done"
                    ? Effect.succeed(outcome.frame)
                    : Effect.fail(failureOf(outcome))
                )
              )
              return Effect.sync(giveUp)
            })
      return ImageProcess.of({
        keep: (organizationId, bytes) =>
          Effect.map(ask(organizationId, "keep", bytes), ({ bytes: kept, head }) => ({
            ...(head as unknown as Omit<KeptImage, "bytes">),
            bytes: kept
          })),
        describe: (organizationId, bytes) =>
          // Copied, because the numbers may be unaligned in the message.
          Effect.map(
            ask(organizationId, "describe", bytes),
            (answer) => new Float32Array(new Uint8Array(answer.bytes).buffer)
          ),
        counts: children satisfies ImageCounts
      })
    })
  )
