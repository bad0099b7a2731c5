/**
 * Runs stages one after another, each within its budget and with its fallback, and records what they did. Synchronous
 * as long as the stages are.
 */
import { givingWay } from "../turns.ts"
import type { Awaitable } from "../engine.ts"
import type { EngineError } from "../errors.ts"
import { GIVE_WAY } from "../budget/cutoff.ts"
import { after } from "./awaitable.ts"
import { permutationOf } from "./permutation.ts"
import { StageLate, type Candidate, type Stage, type StageContext, type StageRequest } from "../stage/stage.ts"
import { MOVES_MAX, type Move, type StageTrace } from "./trace.ts"
import type { StageResult } from "./stage-result.ts"
import type { StageTape } from "./tape.ts"

export interface StageEnvironment {
  readonly request: StageRequest
  readonly now_us: () => number
  readonly signal?: AbortSignal | undefined
  /** As in `StageContext`. */ readonly column?: StageContext["column"]
  /** Collect moves and scores. */ readonly explain?: boolean | undefined
  /** Records, or replays, results of asynchronous stages. */ readonly tape?: StageTape | undefined
}
export interface StageRun {
  readonly candidates: ReadonlyArray<Candidate>
  readonly stages: ReadonlyArray<StageTrace>
  /** Score parts by document id. */ readonly scores: ReadonlyMap<string, Readonly<Record<string, number>>>
  /** Set if a stage with the fallback `error` failed or was late, or the request was cancelled. */
  readonly failure?: EngineError
}
export const GIVEN_UP: EngineError = { kind: "TimedOut", message: "The search was given up before it was done." }
/** How long a stage may take to notice that its signal has aborted. */
const GRACE_MS = 20

/**
 * O(stages · candidates) in addition to the stages themselves.
 *
 * @example
 * ```ts
 * import { runStages } from "@dowser/engine-sdk/pipeline"
 *
 * const request = { q: "shoe", words: ["shoe"], firstPage: 10 }
 * const { stages } = await runStages([], [], { request, now_us: () => performance.now() * 1_000 })
 * ```
 */
export const runStages = (
  candidates: ReadonlyArray<Candidate>,
  stages: ReadonlyArray<Stage>,
  environment: StageEnvironment
): Awaitable<StageRun> => {
  const scores = new Map<string, Record<string, number>>()
  const traces: StageTrace[] = []
  const give = stages.length < 2 ? () => undefined : givingWay()
  const step = (at: number, current: ReadonlyArray<Candidate>): Awaitable<StageRun> => {
    if (environment.signal?.aborted === true) return { candidates: current, stages: traces, scores, failure: GIVEN_UP }
    if (at === stages.length) return { candidates: current, stages: traces, scores }
    return after(runStage(stages[at], at, current, environment), (ran) => {
      traces.push(ran.trace)
      for (const { id, name, value } of ran.scores) scores.set(id, { ...scores.get(id), [name]: value })
      const { outcome, note } = ran.trace
      if (stages[at].fallback === "error" && (outcome === "late" || outcome === "failed")) {
        const message = `The stage \`${stages[at].name}\` ${outcome === "late" ? "took too long" : `failed: ${note ?? "no reason given"}`}.`
        return { candidates: current, stages: traces, scores, failure: { kind: "Unavailable", message } }
      }
      // Each stage keeps to its budget, but there may be several, so other work gets a turn in between.
      const turn = at + 1 < stages.length ? give() : undefined
      return turn === undefined ? step(at + 1, ran.candidates) : turn.then(() => step(at + 1, ran.candidates))
    })
  }
  return step(0, candidates)
}

interface Ran {
  readonly candidates: ReadonlyArray<Candidate>
  readonly trace: StageTrace
  readonly scores: StageResult["scores"]
}

const runStage = (
  stage: Stage,
  at: number,
  given: ReadonlyArray<Candidate>,
  environment: StageEnvironment
): Awaitable<Ran> => {
  const { tape } = environment
  const started = environment.now_us()
  const known = tape?.replayed(at)
  const attempt = new Attempt(stage, given, environment, started)
  const mark = tape?.mark()
  let result: Awaitable<StageResult>
  if (known !== undefined) result = known
  else {
    result = attempt.run()
    // Clock readings in an asynchronous stage would differ in a replay: they are dropped, and its result is recorded.
    if (result instanceof Promise && tape !== undefined) {
      tape.forget(mark ?? 0)
      result = result.then((settled) => tape.record(at, settled))
    }
  }
  return after(result, (settled) => {
    const candidates = settled.order?.map((i) => given[i]) ?? given
    const moved =
      settled.moved.length > 0 || environment.explain !== true
        ? settled.moved
        : movesBetween(given, settled.order ?? [], stage.name)
    return {
      candidates,
      scores: settled.scores,
      trace: {
        name: stage.name,
        outcome: settled.outcome,
        budget_ms: stage.budget_ms,
        us: environment.now_us() - started,
        ...(settled.note === undefined ? {} : { note: settled.note }),
        moved: moved.slice(0, MOVES_MAX)
      }
    }
  })
}
/** Moves for a stage that reported none: every candidate that changed its position. */
const movesBetween = (given: ReadonlyArray<Candidate>, order: ReadonlyArray<number>, name: string): Move[] =>
  order.flatMap((from, to) => (from === to ? [] : [{ id: given[from].id, from, to, why: name }]))

/** One run of one stage: its context, its clock and its outcome. */
class Attempt implements StageContext {
  readonly request: StageRequest
  readonly column: StageContext["column"]
  readonly moved?: StageContext["moved"]
  readonly scored?: StageContext["scored"]
  readonly #stage: Stage
  readonly #given: ReadonlyArray<Candidate>
  readonly #environment: StageEnvironment
  readonly #started: number
  readonly #moves: Move[] = []
  readonly #scores: Array<StageResult["scores"][number]> = []
  #abort: AbortController | undefined
  #isDetached = false
  #skipped: string | undefined
  #note: string | undefined
  constructor(stage: Stage, given: ReadonlyArray<Candidate>, environment: StageEnvironment, started: number) {
    this.request = environment.request
    this.column = environment.column
    this.#stage = stage
    this.#given = given
    this.#environment = environment
    this.#started = started
    if (environment.explain === true) {
      const moved: StageContext["moved"] = (id, from, to, why) => {
        this.#moves.push({ id, from, to, why })
      }
      const scored: StageContext["scored"] = (id, name, value) => {
        this.#scores.push({ id, name, value })
      }
      this.moved = moved
      this.scored = scored
    }
  }
  now_us(): number {
    return this.#isDetached
      ? (this.#environment.tape?.untaped() ?? this.#environment.now_us())
      : this.#environment.now_us()
  }
  timeLeft_ms(): number {
    return this.#abort?.signal.aborted === true || this.#environment.signal?.aborted === true
      ? 0
      : this.#stage.budget_ms - (this.now_us() - this.#started) / 1_000
  }
  skip(why: string): void {
    this.#skipped = why
  }
  note(text: string): void {
    this.#note = text
  }
  get signal(): AbortSignal {
    return (this.#abort ??= new AbortController()).signal
  }

  run(): Awaitable<StageResult> {
    try {
      const answer = this.#stage.run(this.#given, this)
      if (!(answer instanceof Promise)) return this.#settled(answer)
      this.#isDetached = true
      return this.#inTime(answer)
    } catch (error) {
      return this.#fault(error)
    }
  }
  async #inTime(answer: Promise<ReadonlyArray<Candidate>>): Promise<StageResult> {
    void this.signal
    const abort = this.#abort!
    const outer = this.#environment.signal
    const giveUp = (): void => abort.abort()
    outer?.addEventListener("abort", giveUp, { once: true })
    const budget = setTimeout(giveUp, Math.max(0, this.timeLeft_ms()))
    let grace: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<undefined>((resolve) => {
      abort.signal.addEventListener(
        "abort",
        () => {
          grace = setTimeout(() => resolve(undefined), GRACE_MS)
        },
        { once: true }
      )
    })
    try {
      const settled = await Promise.race([answer, late])
      return settled === undefined ? this.#fault(new StageLate("no answer within its budget")) : this.#settled(settled)
    } catch (error) {
      return this.#fault(error)
    } finally {
      clearTimeout(budget)
      clearTimeout(grace)
      outer?.removeEventListener("abort", giveUp)
      // Stops whatever was started for an answer that is no longer awaited.
      answer.catch(() => {})
      abort.abort()
    }
  }
  #settled(answer: ReadonlyArray<Candidate>): StageResult {
    const facts = {
      moved: this.#moves,
      scores: this.#scores,
      ...((this.#skipped ?? this.#note) === undefined ? {} : { note: this.#skipped ?? this.#note })
    }
    if (this.#skipped !== undefined || answer === this.#given)
      return { outcome: this.#skipped === undefined ? "applied" : "skipped", ...facts }
    const order = permutationOf(this.#given, answer)
    return order === undefined
      ? this.#fault(new Error("it answered other candidates than it was given"))
      : { outcome: "applied", order, ...facts }
  }
  #fault(error: unknown): StageResult {
    // This is not the stage's failure: its candidates take too long to build on this thread.
    if (error === GIVE_WAY) throw error
    return {
      outcome: error instanceof StageLate ? "late" : "failed",
      note: error instanceof Error ? error.message : String(error),
      moved: [],
      scores: []
    }
  }
}
