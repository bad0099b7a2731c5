/**
 * Secrets in a job's config: sealed in the rows of the job and its schedule, opened for its source, never shown. A
 * row stores one as `{"sealed": "…"}`, which no source's own config contains.
 */
import type { Seal } from "../access/seal.ts"

type Fields = Readonly<Record<string, unknown>>
interface Sealed {
  readonly sealed: string
}
const isSealed = (value: unknown): value is Sealed =>
  typeof value === "object" &&
  value !== null &&
  Object.keys(value).length === 1 &&
  typeof (value as Partial<Sealed>).sealed === "string"
const MASK = "********"

const mapped = (config: Fields, change: (value: unknown, name: string) => unknown): Fields =>
  Object.fromEntries(Object.entries(config).map(([name, value]) => [name, change(value, name)]))

export const sealSecrets = (
  seal: Seal["Service"],
  secrets: ReadonlyArray<string> | undefined,
  config: Fields
): Fields =>
  secrets === undefined
    ? config
    : mapped(config, (value, name) =>
        typeof value === "string" && secrets.includes(name) ? { sealed: seal.seal(Buffer.from(value, "utf8")) } : value
      )
export const openSecrets = (
  seal: Seal["Service"],
  secrets: ReadonlyArray<string> | undefined,
  config: unknown
): unknown =>
  secrets === undefined || typeof config !== "object" || config === null
    ? config
    : mapped(config as Fields, (value, name) =>
        isSealed(value) && secrets.includes(name) ? seal.open(value.sealed).toString("utf8") : value
      )
/** The config as a job shows it. */
export const maskSecrets = (config: Fields): Record<string, unknown> =>
  mapped(config, (value) => (isSealed(value) ? MASK : value))
