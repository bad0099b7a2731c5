/**
 * Secrets in the config of a job: sealed in its row and its schedule's, opened for its source, shown to nobody. In a
 * row one stands as `{"sealed": "…"}`, which no source's own config has.
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
/** As a job is shown. */
export const maskSecrets = (config: Fields): Record<string, unknown> =>
  mapped(config, (value) => (isSealed(value) ? MASK : value))
