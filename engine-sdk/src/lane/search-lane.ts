/**
 * A lane for long searches. The main thread gives each search a quantum; a search that uses it up is interrupted and
 * runs again here, from the beginning and with its full time, in a separate thread over the same segments. Most
 * searches never get here and pay nothing for it; one that does delays the others only by its quantum.
 *
 * A namespace has one running search at a time, so that no tenant's slow searches delay another's, and has its own
 * queue; namespaces take turns. A thread that does not answer in time is terminated: its search is answered as timed
 * out, and the next one gets a new thread.
 */
import type { Namespace } from "../engine.ts"
import { fail, type EngineError, type Result } from "../errors.ts"
import { warn } from "../warning.ts"
import { CLOSED, messageOf, plansOf, settleJob, type LaneDone, type LaneJob, type PendingJob } from "./job.ts"
import { SearchThread } from "./search-thread.ts"

/** Number of searches that run at the same time, of different namespaces. */
const THREADS = 2
const WAITING_MAX = 2_000,
  WAITING_OF_NAMESPACE_MAX = 200
/** Time beyond a search's processor time: waiting for a processor, or until a relevance index is built. */
const GRACE_MS = 20_000,
  GRACE_FACTOR = 4,
  BUILDING_MS = 120_000
/** Memory that a search can hold in addition to the index. If it needs more, its thread ends instead of the program. */
const HEAP_MB = 1_024
const RETRY_AFTER_S = 10
/** Collections that a thread keeps, in addition to those it is searching. */
const KNOWN_MAX = 8
/** Interval for checking whether the callers of running searches are still waiting. */
const WATCH_MS = 20
/** Delay before threads are started, once there is something to search. */
const START_MS = 1_000
interface Place {
  readonly thread: SearchThread
  running:
    | {
        readonly id: number
        readonly waiting: PendingJob
        readonly timer: ReturnType<typeof setTimeout>
        readonly watch: ReturnType<typeof setInterval>
        readonly ended: Promise<void>
        readonly end: () => void
      }
    | undefined
}

/** Not reported as TimedOut, which would suggest that the engine is down, although it serves all others. */
const timedOut: EngineError = {
  kind: "Overloaded",
  message: "The search took longer than it may.",
  retryAfterSeconds: 10
}
const overloaded: EngineError = {
  kind: "Overloaded",
  message: "More searches that take long are waiting than can be answered in time.",
  retryAfterSeconds: RETRY_AFTER_S
}

export class SearchLane {
  private readonly path: string
  private readonly places: Place[] = []
  /** Queues of namespaces, in the order of their turns. */ private readonly lines = new Map<Namespace, PendingJob[]>()
  private waiting = 0
  private next = 1
  private isClosed = false
  private isExpecting = false
  constructor(path: string) {
    this.path = path
  }
  /** Called when enough is stored that a search may take long: starts the threads, one after another. */
  expect(): void {
    if (this.isExpecting) return
    this.isExpecting = true
    // Starting a thread blocks this one for some hundred milliseconds, so none is started while a search waits.
    for (let n = 1; n <= THREADS; n++)
      (
        setTimeout(() => {
          if (!this.isClosed && this.places.length < n) this.start()
        }, n * START_MS) as { readonly unref?: () => void }
      ).unref?.()
  }

  /** Runs a job. Never rejects, except on a defect. */
  run(job: LaneJob): Promise<Result<LaneDone>> {
    const line = this.lines.get(job.namespace) ?? []
    if (this.isClosed) return Promise.resolve(fail(CLOSED))
    if (this.waiting >= WAITING_MAX || line.length >= WAITING_OF_NAMESPACE_MAX) return Promise.resolve(fail(overloaded))
    return new Promise((resolve, reject) => {
      line.push({ job, resolve, reject })
      this.lines.set(job.namespace, line)
      this.waiting++
      this.dispatch()
    })
  }
  /** Runs a job on every thread that is up and idle; resolves when all are done, whatever the outcome. */
  async practise(job: LaneJob): Promise<void> {
    const idle = this.places.filter(({ running, thread }) => running === undefined && thread.isReady)
    await Promise.all(
      idle.map(
        (place) => new Promise<void>((resolve, reject) => this.begin(place, { job, resolve: () => resolve(), reject }))
      )
    )
  }
  /** Called when the collection was closed or dropped. */
  forget(key: number): void {
    for (const { thread } of this.places) thread.forget(key)
  }
  /** Resolves when the searches that are running at this call have ended; undefined if there are none. */
  unread(): Promise<void> | undefined {
    const running = this.places.flatMap(({ running }) => (running === undefined ? [] : [running.ended]))
    return running.length === 0 ? undefined : Promise.all(running).then(() => undefined)
  }
  async close(): Promise<void> {
    this.isClosed = true
    for (const line of this.lines.values()) for (const { resolve } of line) resolve(fail(CLOSED))
    this.lines.clear()
    this.waiting = 0
    await Promise.all(
      this.places.map(async (place) => {
        await place.thread.end()
        const waiting = place.running?.waiting
        this.settle(place)
        waiting?.resolve(fail(CLOSED))
      })
    )
  }
  private dispatch(): void {
    for (;;) {
      const busy = new Set(
        this.places.flatMap(({ running }) => (running === undefined ? [] : [running.waiting.job.namespace]))
      )
      if (busy.size >= THREADS) return
      const found = [...this.lines].find(([namespace]) => !busy.has(namespace))
      if (found === undefined) return
      const idle = this.places.find(({ running }) => running === undefined)
      // A thread that is warming up counts as idle, because it is free in a moment and can already be sent a job.
      if (idle === undefined && this.places.length >= THREADS) return
      const [namespace, line] = found
      const one = line.shift()!
      this.waiting--
      // The namespace moves behind the others.
      this.lines.delete(namespace)
      if (line.length > 0) this.lines.set(namespace, line)
      if (one.job.isGivenUp()) one.resolve(fail(timedOut))
      else this.begin(idle ?? this.start(), one)
    }
  }
  private begin(place: Place, waiting: PendingJob): void {
    const { job, resolve } = waiting
    const left_ms = Math.max(0, job.left_ms()),
      id = this.next++
    let end = (): void => {}
    const ended = new Promise<void>((settle) => {
      end = settle
    })
    const builds = plansOf(job.work).some(({ text }) => text?.relevance !== undefined)
    const timer = setTimeout(
      () => this.lost(place, timedOut),
      left_ms * GRACE_FACTOR + GRACE_MS + (builds ? BUILDING_MS : 0)
    )
    timer.unref?.()
    const givenUp = new Int32Array(new SharedArrayBuffer(4))
    const watch = setInterval(() => {
      if (job.isGivenUp()) Atomics.store(givenUp, 0, 1)
    }, WATCH_MS)
    watch.unref?.()
    place.running = { id, waiting, timer, watch, ended, end }
    place.thread.hold()
    const message = messageOf(job, place.thread.known, KNOWN_MAX, { id, left_ms }, givenUp.buffer)
    if (message.ok) {
      try {
        place.thread.post(message.value)
      } catch (error) {
        // The message cannot be sent, so the record of what the thread has is stale.
        this.settle(place)
        waiting.reject(error as Error)
        this.lost(place, overloaded)
      }
      return
    }
    this.settle(place)
    resolve(message)
  }
  private start(): Place {
    const place: Place = {
      thread: new SearchThread(
        this.path,
        { old_mb: HEAP_MB, isForLong: true },
        {
          receive: (message) => {
            const waiting = place.running?.waiting
            if (waiting === undefined || message.id !== place.running?.id) return
            this.settle(place)
            settleJob(waiting, message)
            this.dispatch()
          },
          lost: (reason) =>
            this.lost(
              place,
              reason === undefined
                ? timedOut
                : {
                    kind: "Overloaded",
                    message: `The search needs more than one may have: ${reason}`,
                    retryAfterSeconds: RETRY_AFTER_S
                  }
            )
        }
      ),
      running: undefined
    }
    this.places.push(place)
    return place
  }
  private settle(place: Place): void {
    const { running, thread } = place
    if (running === undefined) return
    clearTimeout(running.timer)
    clearInterval(running.watch)
    place.running = undefined
    running.end()
    thread.letGo()
  }
  private lost(place: Place, error: EngineError): void {
    const at = this.places.indexOf(place)
    if (at < 0) return
    this.places.splice(at, 1)
    const waiting = place.running?.waiting
    if (!this.isClosed) warn("a thread for searches that take long ended", new Error(error.message))
    // The memory it reads is released only once it has ended.
    void place.thread.terminate().finally(() => {
      this.settle(place)
      waiting?.resolve(fail(this.isClosed ? CLOSED : error))
      if (!this.isClosed) this.dispatch()
    })
  }
}
