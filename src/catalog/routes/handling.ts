/** How handlers of the catalogue unpack a request and call one operation of the engine package. */
import * as engine from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { answering, makeContexts } from "../../engine-plane/engine-plane.ts"
import { reachesOwnName } from "../../engine-plane/reached.ts"
import type { Input } from "../../api/implement.ts"
import { textOf, unstorablePath } from "../../http/body.ts"
import { type InputInvalid, inputInvalid, type SessionRequired, type Throttled } from "../../http/errors.ts"
import { reachesEverything } from "../../identity/reach.ts"
import { CurrentOrigin } from "../../identity/origin.ts"
import { restrictionsOf } from "../../identity/restrictions.ts"

export type AnyInput = Input<unknown, unknown>
export type In<P> = Input<unknown, unknown, P>
/** Input of operations on one collection. */
export type InCollection = In<{ readonly collectionName: string }>

/** Only an escape can express what Postgres does not store: NUL, or half a surrogate pair. */
const mayBeUnstorable = (text: string): boolean => /\\u(?:0000|d[89a-f])/i.test(text)
const storable = <A>(value: A, parsed: unknown): Effect.Effect<A, InputInvalid> => {
  const path = unstorablePath(parsed)
  return path === undefined
    ? Effect.succeed(value)
    : Effect.fail(inputInvalid(path === "" ? "body" : path, "No NUL character and no half surrogate pair"))
}
/** A body is parsed once, here; if it does not parse, the operation refuses it with the engine's message. */
export const bodyOf = (input: AnyInput): Effect.Effect<engine.ParsedBody, InputInvalid | SessionRequired | Throttled> =>
  Effect.flatMap(input.bytes, (bytes) => {
    const text = textOf(bytes)
    const result = engine.parseBody(text)
    const body = new engine.ParsedBody(result)
    return result.ok && mayBeUnstorable(text) ? storable(body, result.value) : Effect.succeed(body)
  })
/** Text bodies: documents, which the writer parses, and the lines of a dictionary. */
const textIn = (input: AnyInput): Effect.Effect<string, InputInvalid | SessionRequired | Throttled> =>
  Effect.flatMap(input.bytes, (bytes) => {
    const text = textOf(bytes)
    if (!mayBeUnstorable(text)) return Effect.succeed(text)
    const whole = engine.parseBody(text)
    return storable(
      text,
      whole.ok
        ? whole.value
        : text
            .split("\n")
            .map((line) => engine.parseBody(line))
            .map((line) => (line.ok ? line.value : undefined))
    )
  })

/** Undefined if the key may access every collection. */
export const reachedBy = (context: engine.OperationContext, caller: AnyInput["caller"]) =>
  reachesEverything(caller) ? undefined : (name: string) => reachesOwnName(context, caller, name)

type Awaitable<A> = A | Promise<A>

export type Handling = Effect.Success<typeof makeHandling>
export const makeHandling = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const own = (input: AnyInput) => contextOf(input.caller.organizationId)
  /** Operations without a body. */
  const plain =
    <P>(run: (context: engine.OperationContext, input: In<P>) => Awaitable<engine.OperationResult>) =>
    (input: In<P>) =>
      Effect.flatMap(CurrentOrigin, (origin) =>
        answering(() => run(contextOf(input.caller.organizationId, origin), input))
      )
  /** Operations with a body, which `read` reads. */
  const taking =
    <B>(read: (input: AnyInput) => Effect.Effect<B, InputInvalid | SessionRequired | Throttled>) =>
    <P>(run: (context: engine.OperationContext, input: In<P>, body: B) => Awaitable<engine.OperationResult>) =>
    (input: In<P>) =>
      Effect.flatMap(CurrentOrigin, (origin) =>
        Effect.flatMap(read(input), (body) =>
          answering(() => run(contextOf(input.caller.organizationId, origin), input, body))
        )
      )
  const withBody = taking(bodyOf)
  const withText = taking(textIn)
  /** The same, after the collection was found: a missing collection is reported before an invalid body. */
  const inCollection =
    <P extends { readonly collectionName: string }>(
      run: (context: engine.OperationContext, input: In<P>, text: string) => Awaitable<engine.OperationResult>
    ) =>
    (input: In<P>) =>
      Effect.suspend(() =>
        engine.resolveCollection(own(input), input.params.collectionName) === undefined
          ? answering(() => engine.getCollection(own(input), input.params.collectionName))
          : withText(run)(input)
      )

  /**
   * An operation whose filter or selection may name other collections; refused if the key may not access one of them.
   */
  const within = <A, E>(
    input: AnyInput,
    run: (context: engine.OperationContext, restrictions: engine.Restrictions) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => run(own(input), reachesEverything(input.caller) ? {} : restrictionsOf(input.caller)))
  return { contextOf, inCollection, own, plain, within, withBody, withText }
})
