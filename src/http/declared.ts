/**
 * Errors as operations declare them: classes whose status and fields are known to the compiler and the OpenAPI
 * document. A class whose instances differ in status is declared with the statuses that the operation returns.
 */
import type { Schema } from "effect"

/** Every declared failure has a tag, a message, and a status as data on its schema. */
export interface DeclaredError {
  readonly _tag: string
  readonly message: string
}
/** A `Schema.TaggedError`, which has its status as `httpApiStatus`. */
export interface ErrorClass<E extends DeclaredError = DeclaredError> {
  new (...given: never): E
  /** Its tag. */ readonly identifier: string
  readonly fields: Schema.Struct.Fields
  readonly ast: { readonly annotations?: Readonly<Record<string, unknown>> | undefined }
}
/** For a class without a status of its own. */
interface WithStatuses<E extends DeclaredError = DeclaredError> {
  readonly of: ErrorClass<E>
  readonly statuses: ReadonlyArray<number>
}
export type Declared<E extends DeclaredError = DeclaredError> = ErrorClass<E> | WithStatuses<E>
/** The failures of a list of declarations. */
export type ErrorsOf<D extends ReadonlyArray<Declared>> = {
  [I in keyof D]: D[I] extends ErrorClass<infer E> ? E : D[I] extends WithStatuses<infer E> ? E : never
}[number]

/** The class that is declared, with its statuses or without. */
export const classOf = (declared: Declared): ErrorClass => ("statuses" in declared ? declared.of : declared)
/** The common status of all instances, if there is one. */
export const statusOfClass = ({ ast }: Pick<ErrorClass, "ast">): number | undefined => {
  const status = ast.annotations?.httpApiStatus
  return typeof status === "number" ? status : undefined
}
/** The statuses that an operation returns according to its declarations. */
export const statusesOf = (declared: Declared): ReadonlyArray<number> => {
  if ("statuses" in declared) return declared.statuses
  const status = statusOfClass(declared)
  if (status === undefined) throw new Error("An error without a status of its own must be declared with its statuses.")
  return [status]
}
