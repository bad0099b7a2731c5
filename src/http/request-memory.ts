/**
 * The memory of all requests together: bodies that are arriving or being processed, and responses that nobody reads.
 * Each has a limit of its own; this limit is common, and fair between organizations.
 *
 * The rule is that of buffers in switches (Choudhury and Hahne, "Dynamic queue length thresholds", 1998): a holder may
 * hold as much as is free. A single holder gets half of everything; each of k that want everything gets a (k + 1)th and
 * as much stays free, so a newcomer always finds room, without any prior knowledge of the holders. O(1) per decision.
 *
 * Bytes are counted as they are decoded. The texts and values parsed from them take a few times as much.
 */

/**
 * Bytes per request that are not counted: a socket has as much in its buffers. Small requests cost nothing here, and
 * proceed even when nothing is free.
 */
export const FREE_BYTES = 65_536
export const REQUEST_MEMORY_DEFAULT = 256 * 1024 * 1024
/**
 * The longest wait for room: two requests waiting for each other's memory would wait forever, and a vanished sender
 * is noticed only by reading on.
 */
const WAIT_MS = 2_000

const counted = (bytes: number): number => Math.max(0, bytes - FREE_BYTES)

interface Holder {
  bytes: number
  /** Holders of responses that wait to be read; the longest wait comes first. */ readonly answers: Set<HeldMemory>
}
interface Waiter {
  readonly held: HeldMemory
  readonly bytes: number
  readonly settle: (isGranted: boolean) => void
}

interface RequestMemoryOptions {
  readonly bytesMax?: number
  readonly wait_ms?: number
  /** Called for each response that is cut off. */ readonly onCutOff?: (holder: string) => void
}

export class RequestMemory {
  readonly #bytesMax: number
  readonly #wait_ms: number
  readonly #onCutOff: (holder: string) => void
  readonly #holders = new Map<string, Holder>()
  readonly #waiting = new Set<Waiter>()
  #bytes = 0
  #willSweep = false

  constructor({
    bytesMax = REQUEST_MEMORY_DEFAULT,
    onCutOff = () => {},
    wait_ms = WAIT_MS
  }: RequestMemoryOptions = {}) {
    this.#bytesMax = bytesMax
    this.#wait_ms = wait_ms
    this.#onCutOff = onCutOff
  }

  /** Bytes counted now. */
  get bytes(): number {
    return this.#bytes
  }

  /** Opens memory for one request of the holder, to be closed with `close`. `cutOff` ends its response. */
  open(holder: string, cutOff: () => void = () => {}): HeldMemory {
    return new HeldMemory(this, holder, cutOff)
  }

  /** Called only by `HeldMemory`. */
  change(held: HeldMemory, bytes: number, isForced: boolean): boolean {
    let holder = this.#holders.get(held.holder)
    if (bytes > 0 && !isForced && (holder?.bytes ?? 0) + bytes > this.#bytesMax - this.#bytes - bytes) return false
    if (holder === undefined) this.#holders.set(held.holder, (holder = { bytes: 0, answers: new Set() }))
    holder.bytes += bytes
    this.#bytes += bytes
    if (held.answerBytes > 0) holder.answers.add(held)
    else holder.answers.delete(held)
    if (holder.bytes === 0) this.#holders.delete(held.holder)
    if (bytes < 0 && this.#waiting.size > 0 && !this.#willSweep) {
      this.#willSweep = true
      setImmediate(() => this.#sweep())
    }
    return true
  }

  /**
   * Call after handing over a response. If its holder now exceeds its share, the responses that have been unread for
   * longest are cut off, but never this one.
   */
  cutOffBehind(held: HeldMemory): void {
    const holder = this.#holders.get(held.holder)
    if (holder === undefined) return
    holder.answers.delete(held)
    for (const oldest of holder.answers) {
      if (holder.bytes <= this.#bytesMax - this.#bytes) break
      this.#end(oldest)
    }
    if (held.answerBytes > 0) holder.answers.add(held)
  }

  /** Makes room for a response in progress by cutting off unread responses of its holder, if that frees enough. */
  makeRoom(held: HeldMemory, bytes: number): boolean {
    const holder = this.#holders.get(held.holder)
    if (holder === undefined) return false
    const others = [...holder.answers].filter((answer) => answer !== held)
    // Freed memory counts twice: the holder has that much less, and that much more is free.
    const missing = () => (holder.bytes + bytes - (this.#bytesMax - this.#bytes - bytes)) / 2
    if (others.reduce((sum, { answerBytes }) => sum + counted(answerBytes), 0) < missing()) return false
    for (const oldest of others) {
      if (missing() <= 0) break
      this.#end(oldest)
    }
    return missing() <= 0
  }

  #end(answer: HeldMemory): void {
    this.#onCutOff(answer.holder)
    answer.cutOff()
    answer.close()
  }

  wait(held: HeldMemory, bytes: number): Promise<boolean> {
    return new Promise((settle) => {
      const timer = setTimeout(() => waiter.settle(false), this.#wait_ms)
      const waiter: Waiter = {
        held,
        bytes,
        settle: (isGranted) => {
          clearTimeout(timer)
          this.#waiting.delete(waiter)
          settle(isGranted)
        }
      }
      this.#waiting.add(waiter)
    })
  }

  #sweep(): void {
    this.#willSweep = false
    for (const waiter of this.#waiting) if (waiter.held.reserve(waiter.bytes)) waiter.settle(true)
  }
}

/** The memory of one request: its body, its decoder, its response while it is created and while it waits to be read. */
export class HeldMemory {
  readonly holder: string
  readonly cutOff: () => void
  readonly #memory: RequestMemory
  #body = 0
  #decoder = 0
  #writing = 0
  #answer = 0
  #counted = 0
  #isClosed = false

  constructor(memory: RequestMemory, holder: string, cutOff: () => void) {
    this.#memory = memory
    this.holder = holder
    this.cutOff = cutOff
  }
  get answerBytes(): number {
    return this.#answer
  }

  /**
   * The body holds `bytes` from now on. Returns false and changes nothing if that is too much; a decrease is always
   * granted.
   */
  reserve(bytes: number): boolean {
    return this.#set(bytes, this.#decoder, this.#writing, this.#answer, bytes <= this.#body)
  }
  /** `reserve` as soon as there is room; false if there was none for too long. */
  async reserveOrWait(bytes: number): Promise<boolean> {
    return this.reserve(bytes) || (await this.#memory.wait(this, bytes))
  }
  /** Like `reserve`, for the decoded data that the decoder keeps. */
  reserveForDecoder(bytes: number): boolean {
    return this.#set(this.#body, bytes, this.#writing, this.#answer, bytes <= this.#decoder)
  }
  /** Like `reserve`, for a response in progress; unread responses of this holder make room for it. */
  reserveForAnswer(bytes: number): boolean {
    const isHeld = () => this.#set(this.#body, this.#decoder, bytes, this.#answer, bytes <= this.#writing)
    return (
      isHeld() ||
      (this.#memory.makeRoom(this, counted(this.#body + this.#decoder + bytes + this.#answer) - this.#counted) &&
        isHeld())
    )
  }
  /** A finished response has to be held in any case: `bytes` of it wait to be read. */
  accountResponse(bytes: number): void {
    this.#set(this.#body, this.#decoder, 0, bytes, true)
    if (bytes > 0) this.#memory.cutOffBehind(this)
  }
  /** For a finished request; whatever it still does is not counted. */
  close(): void {
    this.#set(0, 0, 0, 0, true)
    this.#isClosed = true
  }

  #set(body: number, decoder: number, writing: number, answer: number, isForced: boolean): boolean {
    if (this.#isClosed) return true
    const before = this.#answer
    this.#answer = answer
    const bytes = counted(body + decoder + writing + answer)
    if ((bytes !== this.#counted || before !== answer) && !this.#memory.change(this, bytes - this.#counted, isForced)) {
      this.#answer = before
      return false
    }
    this.#body = body
    this.#decoder = decoder
    this.#writing = writing
    this.#counted = bytes
    return true
  }
}
