/**
 * Bounds how large one request's answer may get. Text is cheap to request and expensive to produce: a tag of a hundred
 * characters around every word, 250 documents of a megabyte, a parent object for each of a million values. So code that
 * reads or produces part of an answer declares its size first, and the first part beyond the bound ends the request.
 *
 * There are two sums over all searches of a request: what was written, which is the answer itself, and what is held on
 * the way to it (documents read, highlights made), which may be a few times as much, because most of it is never shown.
 */
import { invalid, type EngineError } from "../errors.ts"

/** Intermediate data may take this many times the answer's bound. */
const HELD_PER_ANSWER = 4
/** Memory is reserved in steps of this size. */
const STEP_BYTES = 65_536

type AnswerPart = "documents" | "highlights" | "joins" | "facets" | "answer"
const LOWER: Readonly<Record<AnswerPart, string>> = {
  documents: "`per_page` or `group_limit`, or name fewer `include_fields`",
  highlights: "`per_page`, or name fewer `highlight_fields`, no `highlight_full_fields` and shorter tags",
  joins: "`per_page`, or the `limit` of the join in `include_fields`",
  facets: "`max_facet_values`, or ask for fewer facets and no `facet_return_parent`",
  answer: "`per_page`, `group_limit` or `max_facet_values`, or name fewer `include_fields`"
}

/** Thrown when an answer exceeds its bound; caught where the request's answer is created. */
export class AnswerRefused extends Error {
  readonly error: EngineError
  constructor(error: EngineError) {
    super(error.message)
    this.error = error
  }
}
export const answerTooLarge = (bytes_max: number, part: AnswerPart): AnswerRefused =>
  new AnswerRefused(
    invalid(
      `The answer would be larger than ${bytes_max} bytes. Lower ${LOWER[part]}.`,
      part === "answer" ? undefined : part
    )
  )

export class AnswerBudget {
  readonly bytes_max: number
  /** Why it was refused; the first reason if there are several. */ refusal: EngineError | undefined
  readonly #reserve: ((bytes: number) => boolean) | undefined
  #held = 0
  #written = 0
  #reserved = STEP_BYTES

  /** `reserve`: whether the host has memory for this many bytes in total; called before they are allocated. */
  constructor(bytes_max: number, reserve?: (bytes: number) => boolean) {
    this.bytes_max = bytes_max
    this.#reserve = reserve
  }
  get written(): number {
    return this.#written
  }
  get held(): number {
    return this.#held
  }

  /** Counts bytes that were read or produced on the way to the answer. */
  hold(bytes: number, part: AnswerPart): void {
    this.#held += bytes
    if (this.#held > this.bytes_max * HELD_PER_ANSWER) throw this.refuse(answerTooLarge(this.bytes_max, part))
    if (this.#held + this.#written > this.#reserved) this.#more()
  }
  /** Restores the state before a part that was discarded. */
  holdAgain(held: number): void {
    this.#held = held
  }
  /** Adds what a part of the request that ran in another thread used there. */
  settle(held: number, refusal: EngineError | undefined): void {
    if (refusal !== undefined) throw this.refuse(new AnswerRefused(refusal))
    this.hold(Math.max(0, held - this.#held), "answer")
  }
  /** Throws unless this many more bytes may be written. */
  room(bytes: number, part: AnswerPart): void {
    if (this.#written + bytes > this.bytes_max) throw this.refuse(answerTooLarge(this.bytes_max, part))
    if (this.#held + this.#written + bytes > this.#reserved) this.#more(bytes)
  }
  /** Counts bytes of the answer that have been written. */
  wrote(bytes: number): void {
    this.room(bytes, "answer")
    this.#written += bytes
  }
  refuse(refused: AnswerRefused): AnswerRefused {
    this.refusal ??= refused.error
    return refused
  }
  #more(bytes = 0): void {
    const wanted = Math.ceil((this.#held + this.#written + bytes) / STEP_BYTES) * STEP_BYTES
    if (this.#reserve?.(wanted) === false)
      throw this.refuse(
        new AnswerRefused({
          kind: "Overloaded",
          message: "Answers of this organization hold all the memory that there is for them.",
          retryAfterSeconds: 1
        })
      )
    this.#reserved = wanted
  }
}
