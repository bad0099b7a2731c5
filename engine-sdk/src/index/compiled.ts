/** Types of the WebAssembly API used here, which only come with browsers, and loading of code in base 64. */

/** A WebAssembly memory; threads share it and its buffer. */
export interface LinearMemory {
  readonly buffer: ArrayBufferLike
}
interface Runtime {
  readonly Memory: new (options: {
    readonly initial: number
    readonly maximum: number
    readonly shared: boolean
  }) => LinearMemory
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
  readonly CompileError: new () => Error
}
const runtime = (): Runtime | undefined => (globalThis as unknown as { readonly WebAssembly?: Runtime }).WebAssembly

export const PAGE_BYTES = 65_536
/** Throws RangeError if the runtime cannot allocate it. */
export const sharedMemory = (pages: number): LinearMemory => {
  const own = runtime()
  if (own === undefined) throw new RangeError("There is no WebAssembly here, so no memory of its kind.")
  return new own.Memory({ initial: pages, maximum: pages, shared: true })
}
/** undefined if the runtime lacks a feature that the code needs. */
export const compiled = (code: string): object | undefined => {
  const own = runtime()
  if (own === undefined) return undefined
  try {
    return new own.Module(Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0)))
  } catch (error) {
    if (error instanceof own.CompileError) return undefined
    throw error
  }
}
/** What a module exports. */
export const exportsOf = (module: object, imports: object): unknown =>
  new (runtime()!.Instance)(module, imports).exports
