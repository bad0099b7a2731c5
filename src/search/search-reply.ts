/** What a search answers, ready to be sent, with what those who put answers together have to know of it. */
import { Effect } from "effect"
import type { EngineError } from "../../engine-sdk/src/mod.ts"
import { stringifyJson } from "../../engine-sdk/src/documents/mod.ts"
import type { Answered } from "../../engine-sdk/src/operations/mod.ts"
import { declaredOf } from "../catalog/engine-plane.ts"
import type { DeclaredError } from "../http/render.ts"
import { Reply } from "../http/reply.ts"

export class SearchReply extends Reply {
  /**
   * Texts of the entries of a multi-search, for who puts several together; else none: the text has them, and holding
   * both would be twice the answer.
   */
  readonly entries: ReadonlyArray<string>
  /** Searches that failed inside an answer of 200; of a union the one that stands for all of it. */
  readonly failures: ReadonlyArray<EngineError>
  constructor(
    status: number,
    text: string,
    entries: ReadonlyArray<string> = [],
    failures: ReadonlyArray<EngineError> = []
  ) {
    super(status, text)
    this.entries = entries
    this.failures = failures
  }
}

export const searchReplyOf = (answered: Answered, keepsEntries = false): Effect.Effect<SearchReply, DeclaredError> =>
  answered.ok
    ? Effect.succeed(
        new SearchReply(
          answered.value.status,
          answered.value.text ?? stringifyJson(answered.value.body),
          keepsEntries ? answered.value.entries : [],
          answered.value.failures
        )
      )
    : Effect.fail(declaredOf(answered.error))
