/** Decodes what callers send: a schema failure becomes one `InputInvalid` with an issue per field, never a 422. */
import { Effect, Result, Schema, SchemaIssue } from "effect"
import { InputInvalid } from "./errors.ts"

const standard = SchemaIssue.makeFormatterStandardSchemaV1()

const pathText = (path: ReadonlyArray<unknown> | undefined): string =>
  (path ?? [])
    .map((part) => (typeof part === "object" && part !== null && "key" in part ? (part as { key: unknown }).key : part))
    .reduce<string>(
      (text, part) =>
        typeof part === "number" || /^\d+$/.test(String(part))
          ? `${text}[${String(part)}]`
          : text === ""
            ? String(part)
            : `${text}.${String(part)}`,
      ""
    )

/** Compiles once per schema; O(size of input). Unknown keys are refused if the schema says so (`closed`). */
export const decoderOf = <S extends Schema.Codec<unknown, unknown, never, never>>(
  schema: S,
  options: { readonly closed: boolean }
) => {
  const decode = Schema.decodeUnknownResult(schema, {
    errors: "all",
    onExcessProperty: options.closed ? "error" : "ignore"
  })
  return (input: unknown): Effect.Effect<S["Type"], InputInvalid> => {
    const result = decode(input)
    if (Result.isSuccess(result)) return Effect.succeed(result.success)
    const issues = standard(result.failure.issue)
      .issues.slice(0, 50)
      .map((issue) => ({ path: pathText(issue.path), message: issue.message }))
    return Effect.fail(new InputInvalid({ message: "Input validation failed", issues }))
  }
}
