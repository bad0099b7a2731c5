/**
 * Warns the operator of the program when no caller waits for an answer: by Node's and Deno's warnings, or on a
 * browser's console.
 */
export const warn = (what: string, error: unknown): void => {
  const sentence = `${what}: ${error instanceof Error ? error.message : String(error)}`
  const { process } = globalThis as { readonly process?: { readonly emitWarning?: (sentence: string) => void } }
  if (process?.emitWarning === undefined) console.warn(sentence)
  else process.emitWarning(sentence)
}
