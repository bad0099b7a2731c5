/** Running experiments of all organizations, in memory, in the form that searches need. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { seedsOf, type Split } from "@dowser/engine-sdk/experiments"
import type { OperationContext } from "@dowser/engine-sdk/operations"
import type { Parameters } from "@dowser/engine-sdk/query"
import type { CompiledRules, RuleSet } from "@dowser/engine-sdk/rules"
import type { Subject } from "../configuration/change.ts"
import { isCurrent } from "../engine-plane/owned-fields.ts"
import { type AnswerGates, gatePart, gatesOf, type GateVisitor } from "../rules/answer-gates.ts"
import { type CompiledFor, compileFor } from "../rules/compiled-for.ts"
import type { Target } from "./definition.ts"
import type { StoredExperiment } from "./experiments-repository.ts"

export interface RunningVariant {
  readonly id: string
  readonly params: Parameters | undefined
  readonly rules: RunningRules | undefined
  readonly profile: string | undefined
}
export interface RunningExperiment extends Split {
  readonly id: string
  readonly run: number
  readonly collection: string
  readonly unit: "session" | "user"
  /** Whether both rankings are merged into one list. */ readonly isInterleaved: boolean
  readonly target: Target | undefined
  readonly variants: ReadonlyArray<RunningVariant>
}

/** A variant's rule set, compiled on first use with the schema of that moment. */
class RunningRules {
  readonly ruleSet: RuleSet
  #compiled: CompiledFor | undefined
  constructor(ruleSet: RuleSet) {
    this.ruleSet = ruleSet
  }
  /** O(rules) after a schema changed, otherwise O(related collections). */
  compiled(context: OperationContext, collection: CollectionInfo): CompiledRules {
    if (this.#compiled === undefined || !isCurrent(this.#compiled, () => context, collection))
      this.#compiled = compileFor(context, collection, this.ruleSet)
    return this.#compiled.rules
  }
}

const textsOf = (params: Readonly<Record<string, string | number | boolean>>): Parameters =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]))
const runningRules = (stored: unknown): RunningRules => {
  const ruleSet = stored as RuleSet
  // Also reads the conditions that a search needs before the set is compiled; throws if they are invalid.
  gatesOf([ruleSet])
  return new RunningRules(ruleSet)
}
const weightOf = ({ weight }: { readonly weight: number }): number => {
  if (!(weight > 0)) throw new Error("A variant has no weight.")
  return weight
}
/** Throws if the row cannot be a stored experiment. */
const runningOf = ({ definition, id, run }: StoredExperiment): RunningExperiment => ({
  id,
  run,
  collection: definition.collection,
  seeds: seedsOf(id, run),
  traffic: definition.traffic,
  weights: definition.variants.map(weightOf),
  unit: definition.unit,
  isInterleaved: definition.mode === "interleave",
  target: definition.target,
  variants: definition.variants.map(({ id: own, params, profile, rules }) => ({
    id: own,
    params: params === undefined ? undefined : textsOf(params),
    rules: rules === undefined ? undefined : runningRules(rules),
    profile
  }))
})

interface Own {
  readonly byId: Map<string, RunningExperiment>
  /** Experiments with a target come first, because a search is in at most one experiment. */
  collections: ReadonlyMap<string, ReadonlyArray<RunningExperiment>>
  gates: AnswerGates
  /** Differs after every change. */ version: number
}

export class ExperimentTable {
  readonly #organizations = new Map<string, Own>()
  readonly #damaged: (row: Pick<StoredExperiment, "organization_id" | "id">, error: unknown) => void
  #changes = 0
  /** `damaged` records a row that cannot be a stored experiment. */
  constructor(damaged: (row: Pick<StoredExperiment, "organization_id" | "id">, error: unknown) => void) {
    this.#damaged = damaged
  }

  /** O(1). */
  of(organizationId: string, collection: string): ReadonlyArray<RunningExperiment> | undefined {
    return this.#organizations.get(organizationId)?.collections.get(collection)
  }
  /** The running experiments of all its collections. */
  all(organizationId: string): Iterable<RunningExperiment> {
    return this.#organizations.get(organizationId)?.byId.values() ?? []
  }
  /** The part of a cached response's key that the variants' rules contribute. */
  gatesKey(organizationId: string, visitor: GateVisitor, now_ms: number): ReadonlyArray<string | number | null> {
    const own = this.#organizations.get(organizationId)
    return own === undefined ? [] : [own.version, ...gatePart(own.gates, visitor, now_ms)]
  }
  get size(): number {
    let size = 0
    for (const { byId } of this.#organizations.values()) size += byId.size
    return size
  }

  /** Replaces everything known about the subjects by the given rows. */
  replace(subjects: ReadonlyArray<Subject> | "all", rows: ReadonlyArray<StoredExperiment>): void {
    const touched = new Set<Own>()
    if (subjects === "all")
      for (const own of this.#organizations.values()) {
        own.byId.clear()
        touched.add(own)
      }
    else
      for (const { id, organizationId } of subjects) {
        const own = this.#ownOf(organizationId)
        own.byId.delete(id)
        touched.add(own)
      }
    for (const row of rows) {
      const own = this.#ownOf(row.organization_id)
      touched.add(own)
      try {
        own.byId.set(row.id, runningOf(row))
      } catch (error) {
        this.#damaged(row, error)
      }
    }
    for (const own of touched) this.#settle(own)
  }
  #settle(own: Own): void {
    const collections = new Map<string, Array<RunningExperiment>>()
    for (const one of own.byId.values()) {
      const others = collections.get(one.collection)
      if (others === undefined) collections.set(one.collection, [one])
      else if (one.target === undefined) others.push(one)
      else others.unshift(one)
    }
    own.collections = collections
    own.gates = gatesOf(
      [...own.byId.values()].flatMap(({ variants }) => variants.flatMap(({ rules }) => rules?.ruleSet ?? []))
    )
    own.version = ++this.#changes
  }
  #ownOf(organizationId: string): Own {
    let own = this.#organizations.get(organizationId)
    if (own === undefined)
      this.#organizations.set(
        organizationId,
        (own = { byId: new Map(), collections: new Map(), gates: gatesOf([]), version: 0 })
      )
    return own
  }
}
