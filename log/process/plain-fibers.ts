/**
 * Imported first by every entry, before anything of `effect`: makes fibers run without Node's asynchronous context.
 *
 * Effect creates an `AsyncResource` at every step at which a fiber waits, so that `AsyncLocalStorage` reaches across
 * it. In Deno 2.9 each of them retains the one in which it was created: a fiber that lives as long as the program leaks
 * 460 bytes for every step it ever waited for. Nothing here uses that storage, and without it a step costs a third.
 * Effect looks the class up once, while it loads, and works without it if it is missing.
 */
const { process } = globalThis
const getBuiltinModule = process.getBuiltinModule
process.getBuiltinModule = ((name: string) =>
  name === "node:async_hooks" ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule
try {
  await import("effect")
} finally {
  process.getBuiltinModule = getBuiltinModule
}
export {}
