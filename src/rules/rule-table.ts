/** Rule sets of all organizations in memory, compiled when first needed under the schema at that time. */
import { type CollectionInfo, fail, ok, type Result } from "@dowser/engine-sdk"
import type { OperationContext } from "@dowser/engine-sdk/operations"
import { checkRuleSet, type CompiledRules, type RuleSet } from "@dowser/engine-sdk/rules"
import type { Subject } from "../configuration/change.ts"
import { isCurrent } from "../engine-plane/owned-fields.ts"
import { organizationUnavailable, type OrganizationUnavailable } from "../http/errors.ts"
import { type AnswerGates, gatePart, gatesOf, type GateVisitor } from "./answer-gates.ts"
import type { CompiledFor } from "./compiled-for.ts"
import { type RuleSetRow, ruleSetOf, type StoredRuleSet } from "./rule-sets-repository.ts"

const NO_RULES = ok(undefined)

interface Entry {
  readonly stored: StoredRuleSet
  compiled: CompiledFor | undefined
}
interface OrganizationRules {
  readonly entries: Map<string, Entry>
  gates: AnswerGates
  /** Changes with every write. */
  version: number
}
const isOf = ({ stored }: Entry, collection: CollectionInfo): boolean =>
  stored.collection_created_at === collection.created_at

/**
 * A stored set, or undefined if it is invalid. Fields that a filter names may have been removed since, which is not
 * damage.
 */
const readRuleSet = ({ rule_set }: RuleSetRow): RuleSet | undefined => {
  const checked = checkRuleSet(rule_set, {
    parseFilter: () => ({ ok: true, value: undefined }),
    fallbacks: ["none", "drop_filters", "popular", "recommendations", "semantic"]
  })
  return checked.ok ? ruleSetOf(rule_set as Partial<RuleSet>) : undefined
}

export interface RuleTableParts {
  readonly contextOf: (organizationId: string) => OperationContext
  /** O(rules). */
  readonly compile: (organizationId: string, collection: CollectionInfo, ruleSet: RuleSet) => CompiledFor
  /**
   * Logs what is unusable in the stored rules, and returns it as a sentence: searches without rules could show what the
   * rules hide, so the organization's searches are refused instead.
   */
  readonly damaged: (
    stored: Pick<StoredRuleSet, "collection" | "organization_id">,
    how: string,
    error?: unknown
  ) => string
}

export class RuleTable {
  readonly #parts: RuleTableParts
  readonly #organizations = new Map<string, OrganizationRules>()
  #changes = 0
  constructor(parts: RuleTableParts) {
    this.#parts = parts
  }

  get(organizationId: string, collection: CollectionInfo): StoredRuleSet | undefined {
    return this.#entryOf(organizationId, collection)?.stored
  }
  compiled(
    organizationId: string,
    collection: CollectionInfo
  ): Result<CompiledRules | undefined, OrganizationUnavailable> {
    const entry = this.#entryOf(organizationId, collection)
    if (entry === undefined) return NO_RULES
    const { compiled } = entry
    if (compiled !== undefined && isCurrent(compiled, () => this.#parts.contextOf(organizationId), collection))
      return ok(compiled.rules)
    try {
      entry.compiled = this.#parts.compile(organizationId, collection, entry.stored.ruleSet)
      return ok(entry.compiled.rules)
    } catch (error) {
      return fail(organizationUnavailable(this.#parts.damaged(entry.stored, "do not compile", error)))
    }
  }
  answerKey(organizationId: string, visitor: GateVisitor, now_ms: number): ReadonlyArray<string | number | null> {
    const own = this.#organizations.get(organizationId)
    return own === undefined ? [] : [own.version, ...gatePart(own.gates, visitor, now_ms)]
  }

  /** Replaces everything known of the subjects by the given rows. */
  replace(subjects: ReadonlyArray<Subject> | "all", rows: ReadonlyArray<RuleSetRow>): void {
    const touched = this.#forget(subjects)
    for (const row of rows) {
      const ruleSet = readRuleSet(row)
      if (ruleSet === undefined) {
        this.#parts.damaged(row, "are not what they should be")
        continue
      }
      const { rule_set: _, ...rest } = row
      const own = this.#rulesOf(row.organization_id)
      own.entries.set(row.collection, { stored: { ...rest, ruleSet }, compiled: undefined })
      touched.add(own)
    }
    for (const own of touched) {
      own.version = ++this.#changes
      own.gates = gatesOf([...own.entries.values()].map(({ stored }) => stored.ruleSet))
    }
  }
  #forget(subjects: ReadonlyArray<Subject> | "all"): Set<OrganizationRules> {
    const touched = new Set<OrganizationRules>()
    if (subjects === "all") {
      for (const own of this.#organizations.values()) {
        own.entries.clear()
        touched.add(own)
      }
      return touched
    }
    for (const { id, organizationId } of subjects) {
      const own = this.#rulesOf(organizationId)
      own.entries.delete(id)
      touched.add(own)
    }
    return touched
  }

  /** Only of this collection: a later one of the same name does not inherit rules. */
  #entryOf(organizationId: string, collection: CollectionInfo): Entry | undefined {
    const entry = this.#organizations.get(organizationId)?.entries.get(collection.schema.name)
    return entry !== undefined && isOf(entry, collection) ? entry : undefined
  }
  #rulesOf(organizationId: string): OrganizationRules {
    let own = this.#organizations.get(organizationId)
    if (own === undefined)
      this.#organizations.set(organizationId, (own = { entries: new Map(), gates: gatesOf([]), version: 0 }))
    return own
  }
}
