/**
 * Fibers as in the program (`log/process/plain-fibers.ts`), which every test file would have to import first. Effect is
 * not loaded here: files that do not need it stay without.
 */
const { process } = globalThis
const getBuiltinModule = process.getBuiltinModule
process.getBuiltinModule = ((name: string) =>
  name === "node:async_hooks" ? undefined : getBuiltinModule.call(process, name)) as typeof getBuiltinModule
export {}
