/** An answer as a stream: refusals are normal error responses until the first frame is ready, then frames. */
import { Cause, Deferred, Effect, Result } from "effect"
import { InternalError } from "../../http/errors.ts"
import type { DeclaredError } from "../../http/declared.ts"
import { render } from "../../http/render.ts"
import type { Chats, TurnFailure } from "../chats.ts"
import type { StreamFormat } from "../schema.ts"
import { AnswerStream } from "./answer-stream.ts"
import { type Frames, framesOf } from "./frames.ts"

type Asked = Parameters<Chats["Service"]["begin"]>[0]

const errorOf = (cause: Cause.Cause<TurnFailure>): DeclaredError => {
  const failure = Cause.findError(cause)
  return Result.isSuccess(failure)
    ? failure.success
    : new InternalError({ message: "Unexpected error.", requestId: "" })
}

export const streamed = Effect.fnUntraced(function* (
  chats: Chats["Service"],
  asked: Asked,
  format: StreamFormat,
  includesUsage: boolean
) {
  const started = yield* Deferred.make<void, TurnFailure>()
  let left: Effect.Effect<void> = Effect.void
  const stream = new AnswerStream(() => Effect.runFork(left))
  let frames: Frames | undefined
  let isStarted = false
  const { answer, head, leave } = yield* Effect.onError(
    chats.begin(asked, (turn) => {
      const own = (frames = framesOf(format, turn, includesUsage))
      return {
        sources: (sources, model) =>
          Effect.suspend(() => {
            isStarted = true
            return Effect.andThen(Deferred.succeed(started, undefined), stream.write(own.sources(sources, model)))
          }),
        delta: (text) => stream.write(own.delta(text))
      }
    }),
    () => Effect.sync(() => stream.destroy())
  )
  left = leave
  const own = frames ?? framesOf(format, head, includesUsage)
  const ending = Effect.matchCauseEffect(answer, {
    onSuccess: (whole) => Effect.andThen(stream.write(own.done(whole)), stream.close()),
    onFailure: (cause) =>
      Effect.suspend(() => {
        if (!isStarted)
          return Effect.andThen(
            Deferred.failCause(started, cause),
            Effect.sync(() => stream.destroy())
          )
        const logged = Result.isSuccess(Cause.findError(cause))
          ? Effect.void
          : Effect.logError("An answer broke off while it was written", cause)
        return logged.pipe(
          Effect.andThen(stream.write(own.error(render(errorOf(cause), "control").body))),
          Effect.andThen(stream.close())
        )
      })
  })
  yield* Effect.forkDetach(ending)
  yield* Effect.onInterrupt(Deferred.await(started), () => Effect.sync(() => stream.destroy()))
  return { stream, headers: own.headers }
})
