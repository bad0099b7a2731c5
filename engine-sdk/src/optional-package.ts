/**
 * Packages that some features need and most programs do not have: `lmdb` (disk), `usearch` (approximate vectors),
 * `@orama/stemmers` (roots of words in languages other than English). None is imported by name at load time, so that
 * the in-memory engine runs without any of them, and without Node's own modules.
 */

/**
 * Thrown if a feature is used without its package. `message` names both and what to install.
 *
 * @example
 * ```ts
 * import { createSearch, PackageMissing } from "@dowser/engine-sdk"
 *
 * const products = createSearch({ path: "./products" })
 * await products.count().catch((error: unknown) => {
 *   if (error instanceof Error && error.cause instanceof PackageMissing) return error.cause.package // "lmdb"
 *   throw error
 * })
 * ```
 */
export class PackageMissing extends Error {
  override readonly name = "PackageMissing"
  readonly package: string
  constructor(specifier: string, purpose: string) {
    const name = nameOf(specifier)
    super(`${purpose} needs the package \`${name}\`: npm install ${name}`)
    this.package = name
  }
}
const nameOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** Node's `require`, if there is one. It is looked up when needed, because a static import would exclude browsers. */
const requireHere = (): NodeJS.Require | undefined =>
  (globalThis as { readonly process?: Partial<NodeJS.Process> }).process
    ?.getBuiltinModule?.("node:module")
    .createRequire(import.meta.url)

/** The error to throw if loading failed: PackageMissing if the package itself is missing, else the original error. */
export const missingPackage = (specifier: string, purpose: string, error: unknown): unknown => {
  const { code, message = "" } = error as { readonly code?: string; readonly message?: string }
  return (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND") && message.includes(nameOf(specifier))
    ? new PackageMissing(specifier, purpose)
    : error
}
/**
 * Loads a package synchronously. Throws PackageMissing if it is not installed, and its own error if it cannot be
 * loaded.
 */
export const optionalPackage = (specifier: string, purpose: string): unknown => {
  const require = requireHere()
  if (require === undefined) throw new PackageMissing(specifier, purpose)
  try {
    return require(specifier)
  } catch (error) {
    throw missingPackage(specifier, purpose, error)
  }
}
/**
 * By name, because looking it up costs several file system calls, and searches do so. At most one entry per package
 * named in the source.
 */
const installed = new Map<string, boolean>()
/** Whether it is installed, without loading it. Looked up once per program. */
export const hasOptionalPackage = (specifier: string): boolean => {
  let known = installed.get(specifier)
  if (known === undefined) installed.set(specifier, (known = canResolve(specifier)))
  return known
}
const canResolve = (specifier: string): boolean => {
  const require = requireHere()
  if (require === undefined) return false
  try {
    require.resolve(specifier)
    return true
  } catch (error) {
    if ((error as { readonly code?: string }).code === "MODULE_NOT_FOUND") return false
    throw error
  }
}
