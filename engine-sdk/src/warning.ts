/**
 * Warns the operator of the program, where no caller waits for an answer: Node's and Deno's warnings, or the console of
 * a browser.
 */
export const warn = (what: string, error: unknown): void => {
  const sentence = `${what}: ${error instanceof Error ? error.message : String(error)}`
  const { process } = globalThis as { readonly process?: { readonly emitWarning?: (sentence: string) => void } }
  if (process?.emitWarning === undefined) console.warn(sentence)
  else process.emitWarning(sentence)
}
