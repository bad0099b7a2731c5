/**
 * Any engine behind a time limit on every call and two circuit breakers: one for reads and one for writes, because they
 * fail independently (a lost writer leaves the searches of the in-process engine running). Only an engine that cannot
 * be reached or does not answer in time opens a circuit; any answer, even a refusal, shows that it is available.
 *
 * A call that is answered synchronously stays without a promise and costs one additional clock reading.
 */
import { type Awaitable, type EngineError, fail, ok, type Result, type SearchEngine } from "@dowser/engine-sdk"
import {
  admit,
  type CallOutcome,
  type Circuit,
  circuitAt,
  type CircuitOptions,
  type CircuitState,
  closedCircuit,
  settle
} from "./circuit.ts"
import { Tally, Timings } from "@dowser/log/process/timings"
import type { EngineCalls, EngineCircuits } from "./engine.ts"

export interface GuardOptions {
  readonly reads?: Partial<CircuitOptions>
  readonly writes?: Partial<CircuitOptions>
  /** Searches, scans, documents. Longer than the 30 s after which an engine cuts off a search by itself. */
  readonly read_ms?: number
  /** Limit for one batch of documents, or a dictionary, including its wait in the queue. */ readonly write_ms?: number
  /** Limit for collections: a change of a schema indexes every document again. */ readonly change_ms?: number
  readonly onChange?: (circuit: keyof EngineCircuits, state: CircuitState) => void
  /** Monotonic milliseconds. */ readonly now_ms?: () => number
}

/** `Retry-After` while the circuit is open. */
const RETRY_AFTER_S = 10
/** Failures are far apart in a quiet installation: five in a row within five minutes open the circuit. */
const optionsDefault: CircuitOptions = { failuresMax: 5, window_ms: 300_000, wait_ms: RETRY_AFTER_S * 1_000 }

type Guarded = Result<unknown> | ReadonlyArray<Result<unknown>>
const isUnavailable = (result: Result<unknown>): boolean =>
  !result.ok &&
  (result.error.kind === "Unavailable" || result.error.kind === "TimedOut") &&
  result.error.isThere !== true
/** One answered plan shows that the engine is available. */
const outcomeOf = (answer: Guarded): CallOutcome =>
  ("ok" in answer ? isUnavailable(answer) : answer.length > 0 && answer.every(isUnavailable))
    ? "unavailable"
    : "answered"

const refusal: EngineError = {
  kind: "Overloaded",
  message: "The search engine did not answer lately and is given time; send the request again later.",
  retryAfterSeconds: RETRY_AFTER_S
}

interface GuardedEngine extends SearchEngine {
  readonly circuits: () => EngineCircuits
  readonly calls: EngineCalls
  /** Calls that changed documents or collections of a namespace, whatever their outcome. */ readonly changes: (
    namespace: string
  ) => number
  /** Number of calls that removed something from a namespace, whatever their outcome. */ readonly removals: (
    namespace: string
  ) => number
}

interface Call {
  readonly name: string
  readonly ticket: number
  readonly began: number
}
/** The circuit of one kind of call. */
class Guard {
  readonly #settings: CircuitOptions
  readonly #now_ms: () => number
  readonly #onChange: (state: CircuitState) => void
  readonly #calls: EngineCalls
  #circuit = closedCircuit

  constructor(
    settings: CircuitOptions,
    now_ms: () => number,
    calls: EngineCalls,
    onChange: (state: CircuitState) => void
  ) {
    this.#settings = settings
    this.#now_ms = now_ms
    this.#calls = calls
    this.#onChange = onChange
  }

  state(): CircuitState {
    return circuitAt(this.#circuit, this.#now_ms()).state
  }

  /** `failed` converts a failure into the type of the call's answer. */
  call<A extends Guarded>(
    name: string,
    limit_ms: number,
    failed: (error: EngineError) => A,
    run: () => Awaitable<A>
  ): Awaitable<A> {
    const began = this.#now_ms()
    const { circuit: next, ticket } = admit(this.#circuit, began)
    this.#become(next)
    if (ticket === undefined) {
      this.#calls.outcomes.add("refused")
      return failed(refusal)
    }
    const call = { began, name, ticket }
    let answer: Awaitable<A>
    try {
      answer = run()
    } catch (error) {
      this.#report(call, "abandoned")
      throw error
    }
    if (!(answer instanceof Promise)) return this.#reported(call, answer)
    return within(limit_ms, answer, failed).then(
      (late) => this.#reported(call, late),
      (error: unknown) => {
        // A defect reveals nothing about the connection to the engine.
        this.#report(call, "abandoned")
        throw error
      }
    )
  }

  #reported<A extends Guarded>(call: Call, answer: A): A {
    this.#report(call, outcomeOf(answer))
    return answer
  }
  #report({ began, name, ticket }: Call, outcome: CallOutcome): void {
    const now = this.#now_ms()
    this.#calls.times.note(name, (now - began) / 1_000)
    this.#calls.outcomes.add(outcome === "abandoned" ? "failed" : outcome)
    this.#become(settle(this.#circuit, ticket, outcome, now, this.#settings))
  }
  #become(next: Circuit): void {
    const before = this.#circuit.state
    this.#circuit = next
    if (next.state !== before) this.#onChange(next.state)
  }
}

/** Counts calls by namespace when they end. */
class CountedCalls {
  readonly #counts = new Map<string, number>()
  of(namespace: string): number {
    return this.#counts.get(namespace) ?? 0
  }
  /** A failed call is counted too: part of it may have been carried out. */
  counted<A>(namespace: string, run: () => Promise<A>): Promise<A> {
    return run().finally(() => {
      this.#counts.set(namespace, this.of(namespace) + 1)
    })
  }
}

const failing = <A>(error: EngineError): Result<A> => fail(error)

/** The optional members that this engine has. */
const optionalsOf = (engine: SearchEngine, write_ms: number): Pick<SearchEngine, "damaged" | "setDictionary"> => {
  const { damaged, setDictionary } = engine
  return {
    ...(setDictionary === undefined
      ? {}
      : {
          // Cannot return a failure: exceeding a limit here is a configuration error that could not be reported.
          setDictionary: async (...given) => {
            const result = await within(
              write_ms,
              setDictionary.apply(engine, given).then(() => ok(undefined)),
              failing
            )
            if (!result.ok) throw new Error(result.error.message)
          }
        }),
    ...(damaged === undefined ? {} : { damaged: () => damaged.call(engine) })
  }
}

export const guardEngine = (
  engine: SearchEngine,
  {
    change_ms = 900_000,
    now_ms = () => performance.now(),
    onChange,
    read_ms = 35_000,
    write_ms = 120_000,
    ...options
  }: GuardOptions = {}
): GuardedEngine => {
  const calls: EngineCalls = { times: new Timings(), outcomes: new Tally() }
  const guardOf = (name: keyof EngineCircuits) =>
    new Guard({ ...optionsDefault, ...options[name] }, now_ms, calls, (state) => onChange?.(name, state))
  const reads = guardOf("reads")
  const writes = guardOf("writes")
  const read = <A>(name: string, run: () => Awaitable<Result<A>>) => reads.call<Result<A>>(name, read_ms, failing, run)
  /** Writes are always asynchronous. */
  const write = async <A>(name: string, limit_ms: number, run: () => Promise<Result<A>>) =>
    writes.call<Result<A>>(name, limit_ms, failing, run)
  const removals = new CountedCalls()
  const changes = new CountedCalls()
  return {
    capabilities: () => engine.capabilities(),
    createCollection: (...given) => write("change", change_ms, () => engine.createCollection(...given)),
    alterCollection: (...given) =>
      changes.counted(given[0], () => write("change", change_ms, () => engine.alterCollection(...given))),
    ...(engine.schemaChanges === undefined
      ? {}
      : { schemaChanges: async (...given) => read("changes", () => engine.schemaChanges!(...given)) }),
    dropCollection: (...given) =>
      removals.counted(given[0], () => write("change", change_ms, () => engine.dropCollection(...given))),
    ...(engine.namespaces === undefined ? {} : { namespaces: () => engine.namespaces!() }),
    listCollections: (...given) => engine.listCollections(...given),
    describeCollection: (...given) => engine.describeCollection(...given),
    write: (...given) => {
      const written = () => changes.counted(given[0], () => write("write", write_ms, () => engine.write(...given)))
      return given[2].some(({ kind }) => kind === "delete") ? removals.counted(given[0], written) : written()
    },
    search: (namespace, plans, budget) =>
      reads.call(
        "search",
        read_ms,
        (error) => plans.map(() => fail(error)),
        () => engine.search(namespace, plans, budget)
      ),
    union: (...given) => read("search", () => engine.union(...given)),
    scan: (...given) => read("scan", () => engine.scan(...given)),
    get: (...given) => read("get", () => engine.get(...given)),
    usage: (...given) => engine.usage(...given),
    ...(engine.words === undefined ? {} : { words: (...given) => read("words", () => engine.words!(...given)) }),
    ...optionalsOf(engine, write_ms),
    // Not blocked by a circuit: the health check shows whether trying makes sense.
    health: () => {
      const health = engine.health()
      return health instanceof Promise ? within<Result<{ readonly ok: true }>>(read_ms, health, failing) : health
    },
    close: () => engine.close(),
    calls,
    circuits: () => ({ reads: reads.state(), writes: writes.state() }),
    changes: (namespace) => changes.of(namespace),
    removals: (namespace) => removals.of(namespace)
  }
}

/** A call that exceeds its limit is left running; its outcome is ignored. */
const within = <A>(limit_ms: number, answer: Promise<A>, failed: (error: EngineError) => A): Promise<A> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<A>((give) => {
    timer = setTimeout(
      () =>
        give(
          failed({
            kind: "Unavailable",
            message: `The search engine did not answer within ${limit_ms / 1_000} s; whether it carried out the request is unknown.`
          })
        ),
      limit_ms
    )
  })
  return Promise.race([answer, limit]).finally(() => clearTimeout(timer))
}
