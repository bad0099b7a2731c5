/**
 * Reads a configuration body field by field and collects every problem with its path, so that a caller gets all of them
 * together. A member that was not read is an unknown field. `check-rule-set.ts` defines which fields exist.
 */
import { isObject } from "../documents/json.ts"

export interface RuleIssue {
  /** E.g. `pins[2].position`. */ readonly path: string
  readonly message: string
}
/** Maximum problems listed. */
const ISSUES_MAX = 100

export class BodyReader {
  readonly #body: Readonly<Record<string, unknown>>
  readonly #path: string
  readonly #issues: RuleIssue[]
  readonly #known = new Set<string>()
  constructor(body: Readonly<Record<string, unknown>>, path: string, issues: RuleIssue[]) {
    this.#body = body
    this.#path = path
    this.#issues = issues
  }
  pathOf(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`
  }
  refuse(name: string, message: string): void {
    if (this.#issues.length < ISSUES_MAX) this.#issues.push({ path: this.pathOf(name), message })
  }
  has(name: string): boolean {
    return this.#body[name] !== undefined
  }
  /** Reads a field and marks its name as known. */
  #take(name: string): unknown {
    this.#known.add(name)
    return this.#body[name]
  }

  text(
    name: string,
    {
      fallback = "",
      required = false,
      length_max = 1_000
    }: { readonly fallback?: string; readonly required?: boolean; readonly length_max?: number } = {}
  ): string {
    const value = this.#take(name)
    if (value === undefined && !required) return fallback
    if (typeof value !== "string") {
      this.refuse(name, value === undefined ? "is required" : "must be a string")
      return fallback
    }
    if (required && value.trim() === "") this.refuse(name, "must not be empty")
    if (value.length > length_max) this.refuse(name, `must have at most ${length_max} characters`)
    return value
  }
  number(name: string, fallback: number | undefined, min: number, max: number): number {
    const value = this.#take(name)
    if (value === undefined && fallback !== undefined) return fallback
    if (typeof value !== "number" || !Number.isFinite(value)) {
      this.refuse(name, value === undefined ? "is required" : "must be a number")
      return fallback ?? min
    }
    if (value < min || value > max) this.refuse(name, `must be between ${min} and ${max}`)
    return value
  }
  integer(name: string, fallback: number | undefined, min: number, max: number): number {
    const value = this.#body[name]
    if (typeof value === "number" && Number.isFinite(value) && !Number.isInteger(value)) {
      this.#known.add(name)
      this.refuse(name, "must be an integer")
      return fallback ?? min
    }
    return this.number(name, fallback, min, max)
  }
  flag(name: string, fallback: boolean): boolean {
    const value = this.#take(name)
    if (value === undefined) return fallback
    if (typeof value !== "boolean") {
      this.refuse(name, "must be true or false")
      return fallback
    }
    return value
  }
  choice<A extends string>(name: string, choices: ReadonlyArray<A>, fallback: A): A {
    const value = this.#take(name)
    if (value === undefined) return fallback
    const chosen = choices.find((choice) => choice === value)
    if (chosen === undefined) this.refuse(name, `must be one of ${choices.map((choice) => `\`${choice}\``).join(", ")}`)
    return chosen ?? fallback
  }
  texts(name: string, items_max: number, length_max = 256): ReadonlyArray<string> {
    return this.#array(name, items_max).flatMap((value, i) => {
      if (typeof value === "string" && value.trim() !== "" && value.length <= length_max) return [value]
      this.refuse(`${name}[${i}]`, `must be a string of 1 to ${length_max} characters`)
      return []
    })
  }
  /** Reads each element with `read`; elements that are not objects are refused. */
  list<A>(name: string, items_max: number, read: (element: BodyReader) => A): ReadonlyArray<A> {
    return this.#array(name, items_max).flatMap((value, i) => this.#nested(value, `${name}[${i}]`, read) ?? [])
  }
  object<A>(name: string, read: (body: BodyReader) => A): A | undefined {
    const value = this.#take(name)
    return value === undefined ? undefined : this.#nested(value, name, read)
  }
  /** Reads a JSON object that is kept unchanged. */
  free(name: string, bytes_max: number): Readonly<Record<string, unknown>> {
    const value = this.#take(name)
    if (value === undefined) return {}
    if (!isObject(value)) {
      this.refuse(name, "must be an object")
      return {}
    }
    if (JSON.stringify(value).length > bytes_max) this.refuse(name, `must have at most ${bytes_max} characters of JSON`)
    return value
  }
  #array(name: string, items_max: number): ReadonlyArray<unknown> {
    const value = this.#take(name)
    if (value === undefined) return []
    if (!Array.isArray(value)) {
      this.refuse(name, "must be an array")
      return []
    }
    if (value.length > items_max) {
      this.refuse(name, `must have at most ${items_max} elements`)
      return []
    }
    return value
  }
  #nested<A>(value: unknown, name: string, read: (body: BodyReader) => A): A | undefined {
    if (!isObject(value)) {
      this.refuse(name, "must be an object")
      return undefined
    }
    const reader = new BodyReader(value, this.pathOf(name), this.#issues)
    const made = read(reader)
    reader.refuseUnknown()
    return made
  }
  /** Call once everything has been read. */
  refuseUnknown(): void {
    for (const name of Object.keys(this.#body))
      if (!this.#known.has(name)) this.refuse(name, "is no field of a rule set")
  }
}
